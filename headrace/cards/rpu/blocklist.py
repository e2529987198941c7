"""Lists of addresses for ``accel_blacklist``, in the forms that users have.

=============  =====================================================================================================
plain          ``1.2.3.4``, ``1.2.3.0/24`` (bits behind the length don't count) or ``1.2.3.4 - 1.2.3.9``, one a line,
               with comments after ``#`` or ``;``: FireHOL's, Spamhaus' DROP
ipset save     lines ``add NAME ENTRY ...``; an entry with ``nomatch`` is left out
CSV            the first column has one of these; a first line without is its head
JSON           an array of texts, or texts or objects one a line, of which ``cidr``, ``prefix`` or ``ip`` counts
=============  =====================================================================================================
"""

from __future__ import annotations

import csv
import ipaddress
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from headrace.cards.rpu.listfile import Skipped, nothing, read_text, skip, told
from headrace.cards.rpu.tables import BLACKLIST_CAPACITY, blacklist_words
from headrace.errors import HeadraceError

_IPSET = frozenset(("create", "flush", "destroy", "swap", "rename", "-N", "-F", "-X", "COMMIT"))  # not what a set has
_KEYS = ("cidr", "prefix", "ip")
_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass
class Blocklist:
    """A file's IPv4 prefixes in the order of their first line, each once; ``ipv6``: lines of IPv6, left out."""

    path: str
    prefixes: list[ipaddress.IPv4Network] = field(default_factory=list)
    ipv6: int = 0
    skipped: list[Skipped] = field(default_factory=list)


def read_blocklist(path: str | Path, strict: bool = False) -> Blocklist:
    """A list of addresses, prefixes and ranges in one of the forms above.

    Raises HeadraceError, file:line first, where there are lines but none that is one of these and of IPv4; ``strict``:
    for the first line that isn't.
    """
    found: dict[ipaddress.IPv4Network, None] = {}
    blocklist = Blocklist(str(path))
    text = read_text(path)
    entries = _array(path, text) if text.lstrip().startswith("[") else enumerate(text.splitlines(), 1)
    first = True
    for number, line in entries:
        try:
            entry = _entry(line)
            if not entry:
                continue
            if ":" in entry:
                ipaddress.IPv6Network(entry, strict=False)
                blocklist.ipv6 += 1
                if strict:
                    raise ValueError("IPv6, which is not supported")
            elif "-" in entry:
                begin, end = (ipaddress.IPv4Address(side.strip()) for side in entry.split("-"))
                found.update(dict.fromkeys(ipaddress.summarize_address_range(begin, end)))
            else:
                found[ipaddress.IPv4Network(entry, strict=False)] = None
        except ValueError as error:
            if not (first and _is_head(line)):
                skip(path, blocklist.skipped, number, error, strict)
        first = False
    blocklist.prefixes = list(found)
    if not found and blocklist.skipped:
        raise nothing(path, blocklist.skipped)
    if not found and blocklist.ipv6:
        raise HeadraceError(f"{path}: no address of IPv4; {blocklist.ipv6} of IPv6, which are not supported")
    return blocklist


def blocklist_words(found: Blocklist) -> list[tuple[int, int]]:
    """What ``accel_blacklist`` loads: the prefixes in their order, or joined to larger ones where they are too many.
    Raises HeadraceError where they still are."""
    prefixes = found.prefixes
    if len(prefixes) > BLACKLIST_CAPACITY:
        prefixes = list(ipaddress.collapse_addresses(prefixes))
    return blacklist_words(prefixes)


def blocklist_left_out(found: Blocklist) -> str | None:
    """What of a blocklist is not looked at; None: nothing."""
    parts = [f"{found.ipv6} of IPv6"] * bool(found.ipv6) + [told(found.skipped)] * bool(found.skipped)
    return f"{found.path}: ignored: {'; '.join(parts)}" if parts else None


def _entry(line: str) -> str:
    """What a line names; "": nothing. Raises ValueError where that is not to be blocked, or not known."""
    line = line.strip()
    if line[:1] in ('"', "{"):
        try:
            return _json_entry(json.loads(line.rstrip(",")))
        except json.JSONDecodeError:
            pass  # a quoted column
        except RecursionError:
            raise ValueError("JSON, nested too deep") from None
    whole = re.split("[#;]", line, maxsplit=1)[0].strip()
    words = whole.split()
    if words and words[0] in _IPSET:
        return ""
    if len(words) > 2 and words[0] in ("add", "-A"):
        if "nomatch" in words[3:]:
            raise ValueError(f"{words[2]}: an exception (nomatch), which is not supported")
        return words[2]
    return next(csv.reader([whole]))[0].strip() if "," in whole else whole


def _json_entry(found: object) -> str:
    if isinstance(found, dict):
        if found.get("type") == "metadata":
            return ""
        found = next((found[key] for key in _KEYS if key in found), None)
    if not isinstance(found, str):
        raise ValueError(f"JSON, but neither a string nor an object with {', '.join(_KEYS)}")
    return found.strip()


def _array(path: str | Path, text: str) -> Iterator[tuple[int, str]]:
    """The texts of a JSON array, with their lines. Raises HeadraceError where it is none."""
    try:
        texts = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HeadraceError(f"{path}:{getattr(error, 'lineno', 1)}: JSON: {error}") from None
    if not all(isinstance(entry, str) for entry in texts):
        raise HeadraceError(f"{path}:1: JSON: an array, but not only of strings")
    for entry, place in zip(texts, _JSON_TEXT.finditer(text), strict=True):
        yield text.count("\n", 0, place.start()) + 1, entry


def _is_head(line: str) -> bool:
    """Whether a line names the columns of a CSV file."""
    return "," in line and not re.search(r"\d", next(csv.reader([line]))[0])
