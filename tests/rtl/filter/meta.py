"""The metadata beside frames on the Ethernet ports, as headrace_pkg lays them out."""

from dataclasses import dataclass

PROGRAMS = 4


@dataclass(frozen=True)
class TxMeta:
    """tx_meta_t, and the filter engine's own bits"""

    timestamp_ns: int
    wire_len: int
    cut: int
    error: int
    port: int
    lost: int
    matched: int
    lengths: tuple[int, ...]


def unpack_tx(word: int) -> TxMeta:
    """The fields of a transmitted frame's tuser."""

    def take(width: int) -> int:
        nonlocal word
        value = word & ((1 << width) - 1)
        word >>= width
        return value

    head = [take(width) for width in (64, 32, 1, 1, 8, 32, PROGRAMS)]
    return TxMeta(*head, tuple(take(32) for _ in range(PROGRAMS)))


def rx_user(wire_len: int | None = None, error: bool = False) -> int:
    """tuser of a received frame's last beat (rx_meta_t). wire_len: of a frame that a capture had cut."""
    return error << 33 | (wire_len is not None) << 32 | (wire_len or 0)
