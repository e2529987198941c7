"""Coverage and resiliency of a scenario of one's own, over PHYs, jammed links and seeds, as Dask tasks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headrace.emulator.coverage import Place
from headrace.emulator.scenario import parse
from headrace.errors import HeadraceError
from headrace.evaluate.loads import coverage as loads
from headrace.evaluate.loads.coverage import Coverage, Resiliency
from headrace.evaluate.points import run_points


@dataclass(frozen=True)
class Sweep:
    """By PHYs of a node, and by links that are jammed of the scenario's own PHYs."""

    coverage: dict[int, Coverage]
    resiliency: dict[int, Resiliency]

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        covered = [{"phys": phys, **asdict(found)} for phys, found in self.coverage.items()]
        return {"coverage": covered, "resiliency": [asdict(found) for found in self.resiliency.values()]}


def sweep(
    path: Path,
    phys: Sequence[int],
    jammed: Sequence[int],
    *,
    seeds: int = loads.SEEDS,
    steps: int = loads.STEPS,
    coordinator: Place | None = None,
    coordinator_phys: int = 1,
    endpoints: Sequence[Place] = (),
    endpoint_phys: int = 1,
    address: str | None = None,
    progress: Callable[[float], None] | None = None,
    strict: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Sweep:
    """Of a scenario's file. ``coordinator``: its place in metres; None: the middle of the nodes at the begin;
    ``address``: of a Dask scheduler, whose workers must see the files that the scenario names;
    ``strict``: see ``scenario.read``; ``tell`` is told the scenario's notes. Raises HeadraceError."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise HeadraceError(f"{path}: {getattr(error, 'strerror', None) or 'not text in UTF-8'}") from None
    scenario = parse(path, text, strict=strict)
    for line in scenario.notes:
        tell(line)
    if coordinator is None:
        x, y, z = scenario.movement.at(0.0).mean(axis=0).tolist()
        coordinator = x, y, z
    if math.isfinite(scenario.duration_s):
        steps = min(steps, math.floor(scenario.duration_s / scenario.step_s) + 1)
    common = {
        "text": text,
        "folder": str(scenario.folder),
        "anchors": [(coordinator, coordinator_phys), *((place, endpoint_phys) for place in endpoints)],
        "seeds": seeds,
    }
    points = [{"kind": "coverage", **common, "phys": each, "steps": steps} for each in phys]
    points += [{"kind": "resiliency", **common, "phys": scenario.phys, "jammed": each} for each in jammed]
    found = run_points(
        loads.run, points, address, lambda done, all_: progress(done / all_) if progress is not None else None
    )
    return Sweep(dict(zip(phys, found[: len(phys)], strict=True)), dict(zip(jammed, found[len(phys) :], strict=True)))


def place(words: str) -> Place:
    """``X,Y`` or ``X,Y,Z`` in metres. Raises HeadraceError."""
    try:
        numbers = [float(word) for word in words.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 3) or not all(map(math.isfinite, numbers)):
        raise HeadraceError(f"{words}: not a place X,Y or X,Y,Z in metres", 2)
    return numbers[0], numbers[1], numbers[2] if len(numbers) > 2 else 0.0


def counts(words: str) -> list[int]:
    """``4,8,16``. Raises HeadraceError."""
    found = [word.strip() for word in words.split(",") if word.strip()]
    if not all(word.isdecimal() for word in found):
        raise HeadraceError(f"{words}: not whole numbers, such as 4,8,16", 2)
    return list(dict.fromkeys(map(int, found)))
