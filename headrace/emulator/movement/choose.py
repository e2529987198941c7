"""Which of a file's nodes are a scenario's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from headrace.emulator.movement.notes import Notes
from headrace.errors import HeadraceError


def callable_name(name: str) -> str:
    """What a node is called whose name in a file has characters that names of hosts can't have: each run of these, and
    what stands at the ends, is a ``-`` or nothing."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")


def apart(name: str, taken: Iterable[str]) -> str:
    """A name that isn't taken: the same, or with ``-2``, ``-3`` ... behind it."""
    there, number, found = set(taken), 1, name
    while found in there:
        number += 1
        found = f"{name}-{number}"
    return found


def chosen(notes: Notes, there: Sequence[str], names: Sequence[str]) -> list[str]:
    """For each of the scenario's nodes, its name in the file: the same, or one that is called so (``callable_name``);
    where the scenario has only a number of nodes (n1, n2 ...) and the file other names, those in the file's order.
    Raises HeadraceError."""
    path, left = notes.path, f"; {notes.leftovers}" if notes.leftovers else ""
    if set(names) <= set(there):
        return list(names)
    if list(names) == [f"n{number}" for number in range(1, len(names) + 1)]:
        if len(there) < len(names):
            raise HeadraceError(f"{path}: {len(there)} nodes, and the scenario has {len(names)}{left}", 2)
        return list(there[: len(names)])
    counts = Counter(map(callable_name, there))
    called = {callable_name(name): name for name in there if counts[callable_name(name)] == 1}
    called |= {name: name for name in there}
    for name in names:
        if name not in called:
            few = ", ".join(there if len(there) <= 8 else [*there[:4], "...", there[-1]])
            raise HeadraceError(f"{path}: no node {name}: there are {few or 'none'}{left}", 2)
        if called[name] != name:
            notes.say(f"{called[name]} is the node {name}")
    return [called[name] for name in names]
