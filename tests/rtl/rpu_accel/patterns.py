"""Patterns and payloads, and what a search that knows nothing but the definition finds in them."""

import itertools
import random
from collections.abc import Sequence

from headrace.cards.rpu.tables import Pattern, _bucket, fitting

WORDS = """
    GET POST HTTP/1.1 Host User-Agent Mozilla cmd.exe /etc/passwd .php? SELECT union script alert document cookie
    admin login password root shell wget curl http:// Content-Length application/octet-stream x86 boundary
    """.split()  # noqa: SIM905


def naive(patterns: Sequence[Pattern], data: bytes) -> list[tuple[int, int]]:
    """(pattern from 1 on, position of its end) of every occurrence, in the order in which they are reported."""
    folded = data.lower()
    found = []
    for number, (content, nocase) in enumerate(patterns, 1):
        needle, hay = (content.lower(), folded) if nocase else (content, data)
        at = hay.find(needle)
        while at >= 0:
            found.append((at + len(content), min(len(content), 4), number))
            at = hay.find(needle, at + 1)
    return [(number, position) for position, _, number in sorted(found)]


def rule_patterns(count: int) -> list[Pattern]:
    """Such as those of rules: words, paths, bytes of machine code, some without regard to case, of 1 to 64 bytes."""
    found: dict[Pattern, None] = {}
    while len(found) < count:
        kind = random.random()
        if kind < 0.5:
            text = random.choice(("", "/", "=", " ", "|")).join(random.choices(WORDS, k=random.randint(1, 3)))
            content = (text + str(random.randrange(1000))).encode()[: random.randint(3, 64)]
        elif kind < 0.97:
            content = random.randbytes(random.choice((4, 5, 6, 8, 12, 16, 20, 33)))
        else:
            content = random.randbytes(random.randint(2, 3))
        found[Pattern(content, random.random() < 0.5)] = None
    return list(found)


def web_payload(length: int, patterns: Sequence[Pattern], density: float = 0.02) -> bytes:
    """Text as web servers get it, with some patterns in it, some of them in another case or cut short."""
    parts: list[bytes] = []
    size = 0
    while size < length:
        part = random.choice(WORDS).encode() + random.choice((b" ", b"\r\n", b"/", b"=", b"&"))
        if patterns and random.random() < density:
            part = random.choice(patterns).content
            part = random.choice((part, part.swapcase(), part[1:], part[:-1], part + part))
        parts.append(part)
        size += len(part)
    return b"".join(parts)[:length]


def overlapping() -> tuple[list[Pattern], list[bytes]]:
    """Prefixes, suffixes and repetitions of each other, in payloads of little else."""
    patterns = [Pattern(b"a" * length, length % 3 == 0) for length in (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 63, 64)]
    patterns += [
        Pattern(b"ab" * 9),
        Pattern(b"ba" * 4, True),
        Pattern(b"aab"),
        Pattern(b"baa"),
        Pattern(b"a" * 63 + b"b"),
    ]
    payloads = [b"a" * 70, b"ab" * 20, b"a" * 64 + b"b" + b"a" * 16, b"A" * 20 + b"a" * 9, b"", b"a", b"b"]
    return patterns, payloads + [bytes(random.choices(b"aaaabA", k=50)) for _ in range(3)]


def same_endings() -> tuple[list[Pattern], list[bytes]]:
    """Many patterns that differ only far from their end, and each byte of which differs in one bit from another."""
    ending = b"/index.php?id="
    patterns = [Pattern(f"x{number}".encode() + ending, number % 2 == 0) for number in range(60)]
    for bit in range(8):
        for place in range(0, 12, 3):
            changed = bytearray(b"[{@`Zz\0\x80_AMq")
            changed[place] ^= 1 << bit
            patterns += [Pattern(bytes(changed)), Pattern(bytes(changed), True)]
    payloads = [
        b"x7" + ending + b"x33" + ending.upper() + b"x1/INDEX.php?id=",
        b"[{@`Zz\0\x80_AMq",
        b"{{``zz\0\x80_amq",
    ]
    return list(dict.fromkeys(patterns)), payloads + [random.choice(patterns).content * 2 for _ in range(10)]


def same_bucket() -> tuple[list[Pattern], list[bytes]]:
    """Patterns of 2 and of 4 bytes that end alike and lie in the same bucket, so that both candidates meet both."""
    pairs = itertools.product(range(128, 256), repeat=2)
    content = next(bytes(pair) + b"ab" for pair in pairs if _bucket(b"ba" + bytes(pair[::-1])) == _bucket(b"ba"))
    return [Pattern(content), Pattern(b"ab"), Pattern(content, True)], [content * 3, b"xxab", content[1:]]


def cases() -> list[tuple[list[Pattern], list[bytes]]]:
    """Patterns and payloads for them: those of rules in web traffic and in noise, and what makes matchers stumble."""
    rules = rule_patterns(2400)
    rules = rules[: fitting(rules)]
    payloads = [web_payload(length, rules) for length in (1, 15, 16, 17, 60, 64, 500, 1460, 1460)]
    payloads += [random.randbytes(700), bytes(300)]
    every_byte = [Pattern(bytes([byte])) for byte in range(256)]
    return [
        (rules, payloads),
        overlapping(),
        same_endings(),
        same_bucket(),
        (every_byte, [bytes(range(0, 256, 5)), b""]),
        ([], [web_payload(100, [])]),
    ]
