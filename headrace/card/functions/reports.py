"""Lines about a function whose causes are others' doing, so that nobody fills a log by causing them again and again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

_MOST_REASONS = 16


class Reports:
    """Tells each reason at its first, tenth, hundredth ... time; behind the sixteenth reason, all others as one."""

    def __init__(self, function: int, tell: Callable[[str], None]) -> None:
        self._function, self._tell = function, tell
        self._counts: Counter[str] = Counter()

    def report(self, reason: str) -> None:
        """Counts a reason, and tells it if it is time."""
        if reason not in self._counts and len(self._counts) >= _MOST_REASONS:
            reason = "there are more reasons than are told"
        self._counts[reason] += 1
        count = self._counts[reason]
        if str(count).rstrip("0") == "1":
            self._tell(f"function {self._function}: {reason}" + f" ({count} times by now)" * (count > 1))
