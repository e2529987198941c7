"""What the intrusion detector (``firmware/programs/intrusion.c``) finds, by the rules that its matcher has loaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from headrace.cards.rpu.driver import RpuDriver
from headrace.cards.rpu.elf import Program
from headrace.cards.rpu.listfile import told
from headrace.cards.rpu.rules import Rule, RuleFile

_SYMBOL, _ENTRIES, _ENTRY = "alerts", 64, 16  # the program's ring of the newest matches
_HOST = "alerts_host"  # what the host tells the program: whether it waits for the host, and what it has taken
LOOK_CYCLES = 8 * _ENTRIES  # between two looks, that a program which waits does so for a short time


@dataclass(frozen=True)
class RuleMatches:
    """How often a rule's content was found."""

    sid: int
    message: str
    count: int


class Alerts:
    """Counts matches by rule. The program keeps the newest 64 of a unit: what comes between two looks and is more than
    that has no rule. ``wait``: the program waits for the host instead, and its packets with it."""

    def __init__(self, driver: RpuDriver, rules: Sequence[Rule], wait: bool = False) -> None:
        self._driver, self._rules, self._wait = driver, rules, wait
        self._seen: dict[int, int] = {}
        self._counts: Counter[int] = Counter()
        self.unknown = 0  # matches without a rule

    def look(self, unit: int, program: Program) -> None:
        """Takes a unit's new matches."""
        if _SYMBOL not in program.symbols:
            return
        base = program.symbols[_SYMBOL].address
        count = self._word(unit, base)
        seen = self._seen.get(unit)
        if seen is None or count < seen:  # it is new, or another one was loaded
            seen = 0
            self._tell(unit, program, seen)
        if count != seen:
            first = max(seen, count - _ENTRIES)
            found = [self._word(unit, base + 4 + number % _ENTRIES * _ENTRY) for number in range(first, count)]
            late = max(0, self._word(unit, base) - _ENTRIES - first)  # what has been written over meanwhile
            self._counts.update(found[late:])
            self.unknown += count - seen - len(found[late:])
            self._tell(unit, program, count)
        self._seen[unit] = count

    def _word(self, unit: int, address: int) -> int:
        return int.from_bytes(self._driver.read(unit, address, 4), "little")

    def _tell(self, unit: int, program: Program, taken: int) -> None:
        if self._wait and _HOST in program.symbols:
            words = taken.to_bytes(4, "little"), (1).to_bytes(4, "little")
            for place, word in zip((4, 0), words, strict=True):
                self._driver.write([unit], program.symbols[_HOST].address + place, word)

    def matches(self) -> tuple[RuleMatches, ...]:
        """By rule, in the rules' order."""
        found = ((rule, self._counts[number]) for number, rule in enumerate(self._rules, 1))
        return tuple(RuleMatches(rule.sid, rule.message, count) for rule, count in found if count)


def unread(path: str, found: RuleFile) -> str | None:
    """What of a file of rules is not looked at; None: nothing."""
    parts = [
        f"{count} {what}"
        for count, what in (
            (found.without_content, "rules without content"),
            (found.too_long, "rules with contents that are too long"),
            (found.negated, "contents that must not occur"),
            (found.changed, "contents that packets have in another form"),
            (found.places, "rules' addresses or ports"),
            (found.passing, "rules that let packets pass"),
        )
        if count
    ]
    if found.beyond:
        head = found.beyond[0]
        parts.append(f"{len(found.beyond)} rules from sid {head.sid} in line {head.line} on: {head.reason}")
    if found.ignored:
        listed = ", ".join(f"{name} ({count})" for name, count in found.ignored.most_common())
        parts.append(f"options {listed}")
    if found.skipped:
        parts.append(told(found.skipped))
    return f"{path}: ignored: {'; '.join(parts)}" if parts else None
