"""The metadata beside frames on the Ethernet ports, as headrace_pkg lays them out."""

from dataclasses import dataclass

PROGRAMS = 4


@dataclass(frozen=True)
class TxMeta:
    """tx_meta_t"""

    timestamp_ns: int
    wire_len: int
    error: int
    port: int
    matched: int
    lost: int
    snaplen: tuple[int, ...]


def unpack_tx(word: int) -> TxMeta:
    """The fields of a transmitted frame's tuser."""

    def take(width: int) -> int:
        nonlocal word
        value = word & ((1 << width) - 1)
        word >>= width
        return value

    head = [take(width) for width in (64, 32, 1, 8, PROGRAMS, 32)]
    return TxMeta(*head, tuple(take(16) for _ in range(PROGRAMS)))


def rx_user(wire_len: int = 0, error: bool = False) -> int:
    """tuser of a received frame's last beat (rx_meta_t)."""
    return error << 32 | wire_len
