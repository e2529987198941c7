"""Which of a file's nodes are a scenario's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headrace.errors import HeadraceError


def chosen(path: Path, there: Sequence[str], names: Sequence[str]) -> list[str]:
    """For each of the scenario's nodes, its name in the file: the same; where the scenario has only a number of nodes
    (n1, n2 ...) and the file other names, those in the file's order. Raises HeadraceError."""
    if set(names) <= set(there):
        return list(names)
    if list(names) == [f"n{number}" for number in range(1, len(names) + 1)]:
        if len(there) < len(names):
            raise HeadraceError(f"{path}: {len(there)} nodes, and the scenario has {len(names)}", 2)
        return list(there[: len(names)])
    missing = next(name for name in names if name not in there)
    few = ", ".join(there if len(there) <= 8 else [*there[:4], "...", there[-1]])
    raise HeadraceError(f"{path}: no node {missing}: there are {few or 'none'}", 2)
