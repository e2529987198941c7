"""The tables that accelerators of the RPU card load, as words: (byte address, 32 bits), to write in this order.

The heads of ``rtl/rpu/accel/accel_blacklist.sv`` and ``accel_matcher.sv`` say what the words mean. The software twins
in ``firmware/lib`` load the same words.
"""

from __future__ import annotations

import ipaddress
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from headrace.errors import HeadraceError

Word = tuple[int, int]
Prefix = ipaddress.IPv4Network

BLACKLIST_CAPACITY = 2048  # prefixes
_NUMBERS, _USE = 0x1_0000, 0x2_0000
_ALL_ONES = 0xFFFF_FFFF

MATCHER_ROWS = 4096  # of 8 bytes of patterns
LONGEST_PATTERN = 64  # bytes
_ROW = 8
_BUCKETS = 2048
_FILTER_WORDS = 512
_SECOND, _THIRD, _BUCKET, _PATTERNS, _WHOLE = 0x800, 0x1000, 0x2000, 0x1_0000, 0x2_0000


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


class Pattern(NamedTuple):
    """Bytes to look for, 1 to 64; with ``nocase`` the case of ASCII letters doesn't matter."""

    content: bytes
    nocase: bool = False


def matcher_words(patterns: Sequence[Pattern], rows: int = MATCHER_ROWS) -> list[Word]:
    """What ``accel_matcher`` loads to find ``patterns``; it reports them by their place here, from 1 on.

    ``rows`` is the module's parameter ROWS. A pattern takes one for each 8 bytes that it begins.
    Raises HeadraceError when a pattern is too short or long or they are too many; then its message says how many of the
    first ones are not.
    """
    first, second, third = ([0] * _FILTER_WORDS for _ in range(3))
    buckets: dict[int, list[tuple[int, int, int]]] = {}  # of rows: bytes 0 to 3, 4 to 7, control
    for number, (content, nocase) in enumerate(patterns, 1):
        if not 1 <= len(content) <= LONGEST_PATTERN:
            raise HeadraceError(f"pattern {number} has {len(content)} bytes: the matcher takes 1 to {LONGEST_PATTERN}")
        key = content[:-5:-1].lower()  # the last byte first
        kind = len(key) - 1
        _mark(key, first, second, third)
        buckets.setdefault(_bucket(key), []).extend(_rows(content.lower() if nocase else content, nocase, kind, number))
    needed = sum(map(len, buckets.values()))
    if needed > rows:
        raise HeadraceError(
            f"{len(patterns)} patterns take {needed} rows of 8 bytes: the matcher holds {rows}; "
            f"the first {fitting(patterns, rows)} fit (--first)"
        )

    words = [(_WHOLE, 0)]
    for base, table in ((0, first), (_SECOND, second), (_THIRD, third)):
        words += [(base + 4 * i, word) for i, word in enumerate(table)]
    place = 0
    for index in range(_BUCKETS):
        bucket = buckets.get(index, [])
        words.append((_BUCKET + 4 * index, len(bucket) << 16 | (place if bucket else 0)))
        for row in bucket:
            words += [(_PATTERNS + 16 * place + 4 * i, word) for i, word in enumerate(row)]
            place += 1
    return [*words, (_WHOLE, 1)]


def fitting(patterns: Sequence[Pattern], rows: int = MATCHER_ROWS) -> int:
    """How many of the first patterns the matcher holds."""
    needed = list(accumulate(map(rows_of, patterns)))
    return bisect_right(needed, rows)


def rows_of(pattern: Pattern) -> int:
    """How many of the matcher's rows a pattern takes."""
    return -(-len(pattern.content) // _ROW)


def _mark(key: bytes, first: list[int], second: list[int], third: list[int]) -> None:
    """Let what ends with ``key`` through the filter."""
    last, kind = key[0], len(key) - 1
    if kind == 0:
        for word in (2 * last, 2 * last + 1):
            first[word] |= 1 << 31
        return
    by_first = (key[1] ^ key[1] >> 5 << 2) & 0x1F
    column = by_first & 15
    first[2 * last + (by_first >> 4)] |= 1 << (column if kind == 1 else 16 + min(column, 14))
    if kind >= 2:
        by_second = _spread(key[:3], 13, (0, 5, 9))
        second[by_second >> 4] |= 1 << (16 * (kind == 3) + (by_second & 15))
    if kind == 3:
        by_third = _spread(key, 14, (0, 4, 7, 11))
        third[by_third >> 5] |= 1 << (by_third & 31)


def _bucket(key: bytes) -> int:
    return _spread(key, 11, (0, 3, 6, 9)) ^ (0, 0x555, 0x2AA, 0x7FF)[len(key) - 1]


def _spread(key: bytes, width: int, places: Sequence[int]) -> int:
    """Exclusive or of bytes, each turned to a place of its own in ``width`` bits."""
    mixed = 0
    for byte, place in zip(key, places, strict=False):
        mixed ^= (byte << place | byte >> width - place) & (1 << width) - 1
    return mixed


def _rows(content: bytes, nocase: bool, kind: int, number: int) -> Iterable[tuple[int, int, int]]:
    """A pattern from its end on, 8 bytes a row, at the upper end of the row where there are less."""
    for step, end in enumerate(range(len(content), 0, -_ROW)):
        part = content[max(0, end - _ROW) : end]
        data = int.from_bytes(part.rjust(_ROW, b"\0"), "little")
        control = kind << 25 | nocase << 24 | (end <= _ROW) << 23 | step << 20 | len(part) << 16 | number
        yield data & _ALL_ONES, data >> 32, control


def c_table(name: str, words: Sequence[Word]) -> str:
    """C source of the array ``name`` of pairs of 32-bit words, for firmware that loads a table of its own."""
    rows = "".join(f"    {{0x{address:X}, 0x{data:X}}},\n" for address, data in words)
    return f"#include <stdint.h>\n\nconst uint32_t {name}[{len(words)}][2] = {{\n{rows}}};\n"
