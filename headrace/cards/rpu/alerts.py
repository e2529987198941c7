"""What the intrusion detector (``firmware/programs/intrusion.c``) finds, by the rules that its matcher has loaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from headrace.cards.rpu.driver import RpuDriver
from headrace.cards.rpu.elf import Program
from headrace.cards.rpu.rules import Rule, RuleFile, told

_SYMBOL, _ENTRIES, _ENTRY = "alerts", 64, 16  # the program's ring of the newest matches


@dataclass(frozen=True)
class RuleMatches:
    """How often a rule's content was found."""

    sid: int
    message: str
    count: int


class Alerts:
    """Counts matches by rule. The program keeps the newest 64 of a unit: what comes between two looks and is more than
    that has no rule."""

    def __init__(self, driver: RpuDriver, rules: Sequence[Rule]) -> None:
        self._driver, self._rules = driver, rules
        self._seen: dict[int, int] = {}
        self._counts: Counter[int] = Counter()
        self.unknown = 0  # matches without a rule

    def look(self, unit: int, program: Program) -> None:
        """Takes a unit's new matches."""
        if _SYMBOL not in program.symbols:
            return
        base = program.symbols[_SYMBOL].address
        count = int.from_bytes(self._driver.read(unit, base, 4), "little")
        new = count - self._seen.get(unit, 0)
        if new < 0:  # another program was loaded
            new = count
        if new:
            self._seen[unit] = count
            ring = self._driver.read(unit, base + 4, _ENTRIES * _ENTRY)
            for number in range(count - min(new, _ENTRIES), count):
                place = number % _ENTRIES * _ENTRY
                self._counts[int.from_bytes(ring[place : place + 4], "little")] += 1
            self.unknown += max(0, new - _ENTRIES)

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
    if found.ignored:
        listed = ", ".join(f"{name} ({count})" for name, count in found.ignored.most_common())
        parts.append(f"options {listed}")
    if found.skipped:
        parts.append(told(found.skipped))
    return f"{path}: not looked at: {'; '.join(parts)}" if parts else None
