"""What a reader of a file leaves out of it, or takes otherwise than its writer may have meant it."""

from __future__ import annotations

from pathlib import Path

from headrace.errors import HeadraceError

_LISTED = 3  # of each kind
_LEFT, _APART = "left out", "named apart"


def wrong(path: Path, line: int | str, what: str) -> HeadraceError:
    """An error at a line of a file, or at what else says where it is."""
    return HeadraceError(f"{path}:{line}{':' if isinstance(line, int) else ''} {what}", 2)


class Notes:
    """Of the file ``path``. ``strict``: what would be left out, or named apart, is an error."""

    def __init__(self, path: Path, strict: bool = False) -> None:
        self.path, self._strict = path, strict
        self._counts: dict[str, int] = {}
        self._first: dict[str, list[tuple[int | str, str]]] = {}
        self._said: dict[str, None] = {}

    def left_out(self, line: int | str, what: str) -> None:
        """Something at a line is not used. Raises HeadraceError where that is an error."""
        self._note(_LEFT, line, what)

    def apart(self, line: int | str, what: str) -> None:
        """Something at a line has the name of something else. Raises HeadraceError where that is an error."""
        self._note(_APART, line, what)

    def say(self, what: str) -> None:
        """Something else of the file, which is told once."""
        self._said[what] = None

    def _note(self, kind: str, line: int | str, what: str) -> None:
        if self._strict:
            raise wrong(self.path, line, what)
        self._counts[kind] = self._counts.get(kind, 0) + 1
        first = self._first.setdefault(kind, [])
        if len(first) < _LISTED:
            first.append((line, what))

    def need(self, there: object) -> None:
        """Raises HeadraceError where there is nothing, since all was left out: the first of it."""
        if not there and _LEFT in self._first:
            line, what = self._first[_LEFT][0]
            raise wrong(self.path, line, f"{what}; nothing in the file can be used")

    @property
    def leftovers(self) -> str:
        """How many things are left out, and the first of them; none: empty."""
        return self._listed(_LEFT)

    def _listed(self, kind: str) -> str:
        if kind not in self._counts:
            return ""
        more = "; ..." * (self._counts[kind] > _LISTED)
        listed = [f"line {line}: {what}" if isinstance(line, int) else f"{line.strip()} {what}"
                  for line, what in self._first[kind]]  # fmt: skip
        return f"{kind}: {self._counts[kind]:,} ({'; '.join(listed)}{more})"

    @property
    def lines(self) -> tuple[str, ...]:
        """All of it, each beginning with the file's name."""
        return tuple(f"{self.path}: {each}" for each in (*map(self._listed, self._counts), *self._said))
