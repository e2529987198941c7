"""Headers of TLPs as rtl/pcie/pcie_pkg.sv packs them: fields from the most significant bit on, and their widths."""

from dataclasses import dataclass
from typing import Any

from headrace.testing.streams import Word

SUCCESSFUL, UNSUPPORTED, RETRY, ABORTED = 0, 1, 2, 4

REQUEST = {"write": 1, "func": 16, "tag": 8, "addr": 64, "dwords": 11, "first_be": 4, "last_be": 4}
COMPLETION = {"tag": 8, "status": 3, "poisoned": 1, "bytes": 13, "lower_addr": 7, "dwords": 11}
ID = {"func": 16, "requester": 16, "tag": 10, "traffic_class": 3, "attributes": 3}
ACCESS = {"kind": 2, **ID, "bar": 3, "addr": 64, "dwords": 11, "first_be": 4, "last_be": 4, "poisoned": 1}
ANSWER = {**ID, "status": 3, "bytes": 13, "lower_addr": 7, "dwords": 11}
LIMIT = {"ph_infinite": 1, "pd_infinite": 1, "nph_infinite": 1, "ph": 8, "pd": 12, "nph": 8}


def pack(layout: dict[str, int], **values: int) -> int:
    """The struct's bits; fields that aren't named are 0."""
    assert values.keys() <= layout.keys()
    word = 0
    for name, width in layout.items():
        value = values.get(name, 0)
        assert 0 <= value < 1 << width, (name, value)
        word = word << width | value
    return word


def unpack(layout: dict[str, int], word: int) -> dict[str, int]:
    """The fields of a struct's bits."""
    values = {}
    for name, width in reversed(layout.items()):
        values[name] = word & ((1 << width) - 1)
        word >>= width
    return values


@dataclass
class Request:
    """A request as the card sent it, and when; `data` of a write."""

    write: int
    func: int
    tag: int
    addr: int
    dwords: int
    first_be: int
    last_be: int
    cycle: int = 0
    data: bytes = b""

    @classmethod
    def of(cls, header: Any, cycle: int = 0, data: bytes = b"") -> "Request":
        """From a header's bits; checks what the specification says of every request."""
        made = cls(**unpack(REQUEST, int(header)), cycle=cycle, data=data)
        assert 1 <= made.dwords <= 1024 and made.addr % 4 == 0
        assert made.addr % 4096 + 4 * made.dwords <= 4096, "a request crosses 4 KB"
        assert (made.last_be == 0) == (made.dwords == 1), "last byte enables"
        assert made.dwords == 1 or made.first_be, "no byte of the first of several DWs"
        if made.dwords > 2:  # no holes: 2.2.5
            assert made.first_be in (8, 12, 14, 15) and made.last_be in (1, 3, 7, 15), "byte enables with holes"
        return made


def beats_of(data: bytes, header: int, lanes: int) -> list[Word]:
    """(header, data, last) of a TLP; lanes behind the end carry what is there anyway."""
    step = 4 * lanes
    if not data:
        return [(header, 0, 1)]
    return [
        (header, int.from_bytes(data[at : at + step].ljust(step, b"\xa5"), "little"), int(at + step >= len(data)))
        for at in range(0, len(data), step)
    ]
