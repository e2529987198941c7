"""The bridge card's host side: its driver, functional blocks in software, and chains of blocks that move between sides.

``headrace.bridge.driver`` is the driver, ``headrace.bridge.chain`` sets up chains of functional blocks and moves them,
``headrace.bridge.host`` lets software take time, ``headrace.bridge.tools`` are the measurements of the command line.
"""
