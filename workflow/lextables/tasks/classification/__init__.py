"""Classification: a text or a pair of texts, any number of heads; a probability an answer comes back."""
