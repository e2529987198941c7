"""The programs of nodes: those of the thesis (control processor, messenger, PHYs) and the load generator over plain IP.

They are forked from a node's first process, which shares its pages with them: nothing large is imported here.
"""
