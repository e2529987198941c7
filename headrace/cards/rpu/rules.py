"""Snort or Suricata rules for ``accel_matcher``.

Of a rule the options ``content`` (with ``|hex|`` and escapes), ``nocase``, ``sid`` and ``msg`` are read, and both ways
to write ``nocase``: as an option of its own after the content, or behind it (Snort 3: ``content:"x",nocase``).
Everything else is ignored, options counted by their names: addresses and ports, positions (``offset``, ``depth``,
``distance``, ``within``), sticky buffers, ``pcre``, ``flow`` and so on; contents that must not occur (``!"x"``) too. So
a match says that a rule's content occurs somewhere in a packet, not that all of the rule holds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from headrace.cards.rpu.listfile import Skipped, nothing, read_text, skip
from headrace.cards.rpu.tables import LONGEST_PATTERN, Pattern

_DNS_NAMES = ("dns.query", "dns_query", "dns.queries.rrname")  # packets have lengths in place of their dots
_BUFFERS = ("pkt_data", "file_data", "base64_data", "dns_query", "raw_data")
_REMARKS = frozenset(("rev", "gid", "classtype", "priority", "reference", "metadata", "rem", "target"))  # of no packet
_CHANGES = frozenset(("to_md5", "to_sha1", "to_sha256", "from_base64", "base64_data", "pcrexform", "xor"))


@dataclass(frozen=True)
class Rule:
    """What is read of a rule. ``contents``: in its order, those that a packet may have as they stand. ``unread``: what
    else it says of packets, and is not looked at; ``reason``: why it is not loaded, None: it is."""

    sid: int
    message: str
    contents: tuple[Pattern, ...]
    line: int
    unread: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def pattern(self) -> Pattern | None:
        """The content to look for: the longest one that the matcher takes; None: it takes none of them."""
        return max(
            (pattern for pattern in self.contents if len(pattern.content) <= LONGEST_PATTERN),
            key=lambda pattern: len(pattern.content),
            default=None,
        )


@dataclass
class RuleFile:
    """A file's rules, and what of it is not used."""

    path: str
    listed: list[Rule] = field(default_factory=list)  # also those that are not loaded
    without_content: int = 0  # rules
    too_long: int = 0  # rules of whose contents the matcher takes none
    negated: int = 0  # contents that must not occur
    changed: int = 0  # contents of what Suricata makes of a packet: its bytes are others
    passing: int = 0  # rules whose packets are to pass
    places: int = 0  # rules with addresses or ports
    beyond: list[Rule] = field(default_factory=list)  # behind the first ones, of which a user wants no more
    skipped: list[Skipped] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)  # options by name

    @property
    def rules(self) -> list[Rule]:
        """Those that are loaded."""
        return [rule for rule in self.listed if rule.reason is None]

    @property
    def patterns(self) -> list[Pattern]:
        """One of each rule, in their order: what ``tables.matcher_words`` takes."""
        return [rule.pattern for rule in self.rules if rule.pattern]


def read_rules(path: str | Path, strict: bool = False, first: int | None = None) -> RuleFile:
    """The rules of a Snort or Suricata file; lines may go on after a backslash, and ``#`` begins a comment line.
    ``first``: so many are loaded at most.

    Raises HeadraceError, file:line first, where there are lines but none that is a rule; ``strict``: for the first line
    that isn't.
    """
    result = RuleFile(str(path))
    loaded = 0
    for number, line in _lines(read_text(path)):
        try:
            rule = _rule(line, number, result)
        except ValueError as error:
            skip(path, result.skipped, number, error, strict)
            continue
        if rule.reason is None:
            loaded += 1
            if first is not None and loaded > first:
                rule = replace(rule, reason=f"it is behind the first {first:,}")
                result.beyond.append(rule)
        result.listed.append(rule)
    if result.skipped and not result.listed:
        raise nothing(path, result.skipped)
    return result


def written(pattern: Pattern) -> str:
    """A pattern as a rule has it."""
    text = "".join(_written(byte) for byte in pattern.content).replace("||", " ")
    return f'"{text}"{" nocase" * pattern.nocase}'


def _written(byte: int) -> str:
    return chr(byte) if 32 <= byte < 127 and chr(byte) not in '"|\\;:' else f"|{byte:02X}|"


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Rules with the number of their first line."""
    whole, first = "", 0
    for number, line in enumerate([*text.split("\n"), ""], 1):
        part = line.strip()
        if not whole and (not part or part.startswith("#")):
            continue
        first = first if whole else number
        whole += part.removesuffix("\\") + " "
        if not part.endswith("\\"):
            yield first, whole.strip()
            whole = ""
    if whole:
        yield first, whole.strip()


def _rule(line: str, number: int, result: RuleFile) -> Rule:
    """Raises ValueError, whose message says what is wrong."""
    head, parenthesis, body = line.partition("(")
    if not parenthesis or not body.endswith(")") or not head.strip():
        raise ValueError("no rule: it has no options in ( and )")
    sid, message = None, ""
    contents: list[Pattern] = []
    unread: list[str] = []
    negations = changings = 0
    left_out = False  # the content before this option
    buffer, changes, dotted = "", False, False  # what contents are of, and how it is changed before they are looked for
    for name, value in _options(body[:-1]):
        if name == "content":
            pattern, negated, others = _content(value)
            result.ignored.update(other.split()[0].lower() for other in others)
            changed = changes or (buffer in _DNS_NAMES and b"." in pattern.content)
            changed = changed or (dotted and pattern.content.startswith(b"."))
            left_out = negated or changed
            if left_out:
                unread.append(f"content:{'!' * negated}{written(pattern)}")
                negations, changings = negations + negated, changings + (changed and not negated)
            else:
                contents.append(pattern)
            unread += others
        elif name == "nocase":
            if not contents and not left_out:
                raise ValueError("nocase: there is no content before it")
            if not left_out:
                contents[-1] = Pattern(contents[-1].content, True)
        elif name == "sid":
            if not value.isdecimal():
                raise ValueError(f"sid: {value!r} is no number")
            sid = int(value)
        elif name == "msg":
            message = _unquoted(value, name).encode("latin-1").decode("utf-8", "replace")
        else:
            result.ignored[name] += 1
            if name not in _REMARKS:
                unread.append(f"{name}:{value}" if value else name)
            left_out = left_out or name == "uricontent"
            if not value and ("." in name or name in _BUFFERS):
                buffer, changes, dotted = name, False, False
            changes, dotted = changes or name in _CHANGES, dotted or name == "dotprefix"
    if sid is None:
        raise ValueError("the rule has no sid")
    result.negated += negations
    result.changed += changings
    action, *where = head.split()
    passes, places = action.lower() == "pass", any(part not in ("any", "->", "<>") for part in where[1:])
    rule = Rule(sid, message, tuple(contents), number)
    reason = None
    if passes:
        result.passing += 1
        reason = "its packets are to pass"
    elif not contents:
        result.without_content += 1
        kinds = ("must not occur", negations), ("packets have in another form", changings)
        reason = "; ".join(f"its contents {what}" for what, count in kinds if count) or "it has no content"
    elif rule.pattern is None:
        result.too_long += 1
        reason = f"its contents are longer than {LONGEST_PATTERN} bytes"
    result.places += places and not passes
    elsewhere = [" ".join(where[:1])] * (where[:1] not in ([], ["ip"])) + [" ".join(where[1:])] * places
    others = [f"content:{written(content)}" for content in contents if content is not rule.pattern]
    return replace(rule, unread=(*elsewhere, *others, *unread), reason=reason)


def _options(body: str) -> Iterator[tuple[str, str]]:
    """Names and values; a semicolon ends an option unless it is quoted or behind a backslash."""
    start, quoted, escaped = 0, False, False
    for index, letter in enumerate(body):
        if escaped:
            escaped = False
        elif letter == "\\":
            escaped = True
        elif letter == '"':
            quoted = not quoted
        elif letter == ";" and not quoted:
            name, _, value = body[start:index].strip().partition(":")
            start = index + 1
            if name.strip():
                yield name.strip().lower(), value.strip()
    if quoted:
        raise ValueError('a " is not closed')
    if rest := body[start:].strip():
        raise ValueError(f"option {rest.partition(':')[0]}: there is no ; after it")


def _content(value: str) -> tuple[Pattern, bool, list[str]]:
    """The pattern, whether it must not occur, and those of Snort 3's modifiers that are ignored."""
    negated = value.startswith("!")
    quoted = value.removeprefix("!").strip()
    end = quoted.rfind('"') + 1
    modifiers = [modifier.strip() for modifier in quoted[end:].split(",")]
    if modifiers[0] and end:
        raise ValueError(f'content: {modifiers[0]!r} comes after the closing "')
    content = _bytes(_unquoted(quoted[:end], "content"))
    if not content:
        raise ValueError("content: it is empty")
    others = [modifier for modifier in modifiers[1:] if modifier and modifier.lower() != "nocase"]
    nocase = "nocase" in (modifier.lower() for modifier in modifiers[1:])
    return Pattern(content, nocase), negated, others


def _unquoted(value: str, name: str) -> str:
    if len(value) < 2 or value[0] != '"' or value[-1] != '"':
        raise ValueError(f'{name}: its value must be in quotes, "..."')
    return value[1:-1]


def _bytes(text: str) -> bytes:
    """What a content stands for: bytes in hexadecimal between bars, any character behind a backslash as it is."""
    result = bytearray()
    parts = re.split(r"(?<!\\)((?:\\\\)*)\|", text)
    literal, bars = parts[0::2], parts[1::2]
    if len(bars) % 2:
        raise ValueError("content: a | is not closed")
    for index, part in enumerate(literal):
        if index % 2:
            try:
                result += bytes.fromhex("".join(part.split()))  # wherever spaces stand, as Suricata has it
            except ValueError:
                raise ValueError(f"content: |{part}| is not hexadecimal") from None
        else:
            whole = part + (bars[index] if index < len(bars) else "")
            result += re.sub(r"\\(.)", r"\1", whole, flags=re.DOTALL).encode("latin-1")
    return bytes(result)
