"""Sets of prefixes, and what Python's ipaddress says of addresses."""

import random
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network


def random_prefixes(count: int, lengths: Sequence[int] = range(33)) -> list[IPv4Network]:
    """Different prefixes, many of them inside others."""
    found: dict[IPv4Network, None] = {}
    while len(found) < count:
        address = random.getrandbits(32)
        if found and random.random() < 0.3:
            outer = random.choice(list(found)[-50:])
            address = int(outer.network_address) | (address & int(outer.hostmask))
        length = random.choice(lengths)
        found[IPv4Network((address >> 32 - length << 32 - length, length))] = None
    return list(found)


def apart(count: int) -> list[IPv4Network]:
    """Prefixes of which no two touch: the most intervals."""
    step = (1 << 32) // (count + 1)
    return [IPv4Network((((index + 1) * step) | 1, 32)) for index in range(count)]


def hosts(prefixes: Sequence[IPv4Network], count: int) -> list[int]:
    """Addresses in, at the borders of and outside of prefixes."""
    addresses = [0, 0xFFFF_FFFF]
    while len(addresses) < count:
        kind = random.randrange(4)
        if kind == 0 or not prefixes:
            addresses.append(random.getrandbits(32))
            continue
        prefix = random.choice(prefixes)
        first, last = int(prefix.network_address), int(prefix.broadcast_address)
        addresses.append((first - 1, first, last + 1, last, random.randint(first, last))[random.randrange(5)])
    return [address & 0xFFFF_FFFF for address in addresses]


def longest(prefixes: Sequence[IPv4Network], address: int) -> int | None:
    """The number of the longest prefix that the address is in; the first one of equal ones."""
    host = IPv4Address(address)
    inside = [(-prefix.prefixlen, number) for number, prefix in enumerate(prefixes) if host in prefix]
    return min(inside)[1] if inside else None
