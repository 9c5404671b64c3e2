"""Tables: published next to reproduced values, with a verdict for each cell."""
