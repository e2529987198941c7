"""Runs the points of a sweep in parallel with Dask: on this machine, or on any Dask cluster by its address."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import IO, Any, TypeVar

import numpy as np

from headrace.errors import HeadraceError

T = TypeVar("T")

Progress = Callable[[str, float | None], None]
"""Is told what is done now, and the part of it that is done, if that is known."""


def quiet(_what: str, _done: float | None) -> None:
    """Progress that nobody looks at."""


def part_of(progress: Progress, what: str) -> Callable[[int, int], None]:
    """Tells progress how many points are done of all."""
    return lambda done, all_: progress(what, done / all_)


class PointsFile:
    """Results of points as they come, a line of JSON each, so that a sweep that was ended goes on where it stopped.

    ``measured_on``: what the points depend on; those of a file that says something else are dropped. ``results``: the
    modules whose dataclasses results are made of. Raises HeadraceError when the file can't be read or written.
    """

    def __init__(self, path: Path, measured_on: str, results: Sequence[ModuleType]) -> None:
        self._classes: dict[str, Any] = {
            name: kind for module in results for name, kind in vars(module).items() if is_dataclass(kind)
        }  # by name
        self._done: dict[str, Any] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists():
                self._read(path, measured_on)
            self._file: IO[str] = path.open("w")  # anew, without what was cut off
            self._write({"measured_on": measured_on})
            for key, result in self._done.items():
                self._write({"point": key, "result": result})
        except OSError as error:
            raise HeadraceError(f"{path}: {error.strerror}") from None

    def __enter__(self) -> PointsFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __contains__(self, point: dict[str, Any]) -> bool:
        return _key(point) in self._done

    def __getitem__(self, point: dict[str, Any]) -> Any:
        return self._decode(self._done[_key(point)])

    def __setitem__(self, point: dict[str, Any], result: Any) -> None:
        self._done[_key(point)] = _encode(result)
        self._write({"point": _key(point), "result": self._done[_key(point)]})

    def _read(self, path: Path, measured_on: str) -> None:
        for number, line in enumerate(path.read_text().splitlines()):
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:  # cut off while it was written
                continue
            if number == 0 and entry.get("measured_on") != measured_on:
                return
            if "point" in entry:
                self._done[entry["point"]] = entry["result"]

    def _write(self, entry: dict[str, Any]) -> None:
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()

    def _decode(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._decode(each) for each in value]
        if not isinstance(value, dict):
            return value
        found = {name: self._decode(each) for name, each in value.items()}
        kind = found.pop("kind")
        return self._classes[kind](**{n: tuple(each) if isinstance(each, list) else each for n, each in found.items()})


def _key(point: dict[str, Any]) -> str:
    return hashlib.sha256(repr(sorted(point.items())).encode()).hexdigest()[:16]


def _encode(value: Any) -> Any:
    """Dataclasses as mappings that say their kind; their tuples come back as such, lists elsewhere as lists."""
    if is_dataclass(value):
        return {"kind": type(value).__name__, **{f.name: _encode(getattr(value, f.name)) for f in fields(value)}}
    if isinstance(value, list | tuple):
        return [_encode(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def run_points(
    function: Callable[..., T],
    points: Sequence[dict[str, Any]],
    address: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    store: PointsFile | None = None,
) -> list[T]:
    """``[function(**point) for point in points]``, in parallel. ``progress`` gets (done, all) after each point.

    ``address`` is that of a Dask scheduler whose workers have Headrace installed; None starts one worker a core here.
    ``store``: has what an earlier run has found, and gets what this one finds, point by point. Raises HeadraceError
    when there is no cluster. An exception of a point is raised here, once those that run have ended.
    """
    wanted = [point for point in points if store is None or point not in store]
    results: dict[int, T] = {}
    if wanted:
        results = _run(function, wanted, address, _after(len(points) - len(wanted), len(points), progress), store)
    fresh = iter(range(len(wanted)))
    return [store[point] if store is not None else results[next(fresh)] for point in points]


def run_groups(
    what: str,
    function: Callable[..., Any],
    groups: Mapping[str, Sequence[dict[str, Any]]],
    address: str | None,
    progress: Progress,
) -> dict[str, list[Any]]:
    """``run_points`` for the points of several groups together: the results of each. Lists of results are joined."""
    progress(what, 0.0)
    points = [point for group in groups.values() for point in group]
    results = iter(run_points(function, points, address, part_of(progress, what)))
    lists = {name: [next(results) for _ in group] for name, group in groups.items()}
    return {
        name: [each for result in found for each in (result if isinstance(result, list) else [result])]
        for name, found in lists.items()
    }


def _after(before: int, all_: int, progress: Callable[[int, int], None] | None) -> Callable[[int], None]:
    return lambda done: progress(before + done, all_) if progress is not None else None


def _run(
    function: Callable[..., T],
    points: Sequence[dict[str, Any]],
    address: str | None,
    progress: Callable[[int], None],
    store: PointsFile | None,
) -> dict[int, T]:
    from distributed import Client, as_completed

    quiet = logging.CRITICAL  # a worker whose heartbeat comes while all ends calls that an error
    logging.getLogger("distributed").setLevel(quiet)
    workers = min(len(points), os.cpu_count() or 1)
    local = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": quiet}
    try:
        connected = Client(address) if address else Client(**local)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise HeadraceError(f"cluster {address or 'of this machine'}: {str(error).splitlines()[0]}") from None
    with connected as client:
        progress(0)
        futures = [client.submit(function, **point, pure=False) for point in points]
        place = {future.key: number for number, future in enumerate(futures)}
        results: dict[int, T] = {}
        for done, future in enumerate(as_completed(futures), start=1):  # type: ignore[no-untyped-call]
            if future.status == "error":
                client.cancel(futures)
                future.result()
            number = place[future.key]
            results[number] = future.result()
            if store is not None:
                store[points[number]] = results[number]
            progress(done)
        return results
