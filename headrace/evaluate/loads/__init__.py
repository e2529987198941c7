"""Loads for the cards, and what becomes of them: what benchmarks and studies measure. Uses neither of the two."""
