"""The kinds of models; each module has functions `answer` and `mark` (`prediction.Prediction`)."""
