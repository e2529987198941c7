"""The capture card: ``driver`` of its engine, ``feeds`` of packets into it, ``savefiles``, and a whole ``run``."""
