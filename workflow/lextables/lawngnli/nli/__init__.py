"""The public NLI data sets that models are fine-tuned on before LawngNLI, and that Table 2 sets beside it."""
