"""Where a ring of records lies in host memory."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Ring:
    """Its address, and its size in bytes, a power of two."""

    address: int
    size: int
