"""The privacy policy corpus: policies of websites, questions about them, and what law students answered."""
