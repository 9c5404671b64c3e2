"""LegalBench-RAG: passages of contracts, scored by characters (Pipitone and Houir Alami, 2024)."""
