"""Registers, written once in SystemRDL.

Uses ``errors``, ``paths`` and ``cache``. ``compile`` makes RTL, C header and HTML of a description, ``nodes`` is an
address map as plain data, ``views`` gives attribute access through it to the registers of a running card.
"""
