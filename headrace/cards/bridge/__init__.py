"""The bridge card's host side: its driver, functional blocks in software, and chains of blocks that move between sides.

``headrace.cards.bridge.driver`` is the driver, ``headrace.cards.bridge.chain`` sets up chains of functional blocks and
moves them, ``headrace.cards.bridge.host`` lets software take time, ``headrace.cards.bridge.tools`` are the measurements
of the command line.
"""
