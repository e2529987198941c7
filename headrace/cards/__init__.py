"""The cards, a package each: its driver, what it does for a user, and its formats.

A card uses ``card``, ``net`` and ``engines``, and never another card.
"""
