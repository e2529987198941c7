"""What a card is and how it becomes a model: descriptions, constraints, ports, the compiler's cache, lint.

Uses ``registers``, ``cache`` and ``paths``.
"""
