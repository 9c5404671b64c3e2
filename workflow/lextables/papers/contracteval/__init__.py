"""ContractEval: text outputs of language models for CUAD's test questions."""
