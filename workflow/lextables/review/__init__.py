"""The review of a user's contract: readers of its file, the model, and the page."""
