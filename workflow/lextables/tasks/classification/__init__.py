"""Classification: a text or a pair of texts, any number of heads; a probability for each answer comes back."""
