"""The tables that accelerators of the RPU card load, as words: (byte address, 32 bits), to write in this order.

The heads of ``rtl/rpu/accel/accel_blacklist.sv`` and ``accel_matcher.sv`` say what the words mean. The software twins
in ``firmware/lib`` load the same words.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence

from headrace.errors import HeadraceError

Word = tuple[int, int]
Prefix = ipaddress.IPv4Network

BLACKLIST_CAPACITY = 2048  # prefixes
_NUMBERS, _USE = 0x1_0000, 0x2_0000
_ALL_ONES = 0xFFFF_FFFF


def blacklist_words(prefixes: Iterable[Prefix | str], capacity: int = BLACKLIST_CAPACITY) -> list[Word]:
    """What ``accel_blacklist`` loads to find the longest of ``prefixes`` that an address is in, by its place in them.

    ``capacity`` is the module's parameter. Of equal prefixes the first counts.
    Raises HeadraceError when there are more prefixes than that or one is none.
    """
    places: dict[tuple[int, int], int] = {}  # by length and first address
    for number, given in enumerate(prefixes):
        try:
            prefix = ipaddress.IPv4Network(given)
        except ValueError as error:
            raise HeadraceError(f"prefix {number}: {error}") from None
        places.setdefault((prefix.prefixlen, int(prefix.network_address)), number)
    if len(places) > capacity:
        raise HeadraceError(f"{len(places)} different prefixes: the blacklist holds {capacity}")
    masks = {
        length: _ALL_ONES << 32 - length & _ALL_ONES for length in sorted({key[0] for key in places}, reverse=True)
    }

    # Where anything changes on the circle of addresses: at most twice a prefix. Where no prefix begins at 0 and none
    # ends at its other side, nothing changes there, and the last interval goes on to the first one's start.
    changes = {first for _, first in places}
    changes |= {first + (1 << 32 - length) & _ALL_ONES for length, first in places}
    starts, numbers = [], []
    for address in sorted(changes) or [0]:
        found = (places.get((length, address & mask)) for length, mask in masks.items())
        starts.append(address)
        numbers.append(next((place + 1 for place in found if place is not None), 0))
    base = starts[0]
    spare = 2 * capacity - len(starts)
    words = [(4 * i, start) for i, start in enumerate([*(s - base for s in starts), *[_ALL_ONES] * spare])]
    words += [(_NUMBERS + 4 * i, number) for i, number in enumerate([*numbers, *numbers[-1:] * spare])]
    return [*words, (_USE, base)]


def c_table(name: str, words: Sequence[Word]) -> str:
    """C source of the array ``name`` of pairs of 32-bit words, for firmware that loads a table of its own."""
    rows = "".join(f"    {{0x{address:X}, 0x{data:X}}},\n" for address, data in words)
    return f"#include <stdint.h>\n\nconst uint32_t {name}[{len(words)}][2] = {{\n{rows}}};\n"
