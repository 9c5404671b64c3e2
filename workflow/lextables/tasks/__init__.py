"""The four tasks: what is asked of a model, built once whatever the paper."""
