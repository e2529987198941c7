"""Runs the points of a sweep in parallel with Dask: on this machine, or on any Dask cluster by its address."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from headrace.errors import HeadraceError

T = TypeVar("T")


def run_points(
    function: Callable[..., T],
    points: Sequence[dict[str, Any]],
    address: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[T]:
    """``[function(**point) for point in points]``, in parallel. ``progress`` gets (done, all) after each point.

    ``address`` is that of a Dask scheduler whose workers have Headrace installed; None starts one worker a core here.
    Raises HeadraceError when there is none. An exception of a point is raised here, once those that run have ended.
    """
    from distributed import Client, as_completed

    logging.getLogger("distributed").setLevel(logging.ERROR)
    workers = min(len(points), os.cpu_count() or 1)
    local = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": logging.ERROR}
    try:
        connected = Client(address) if address else Client(**local)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise HeadraceError(f"cluster {address or 'of this machine'}: {str(error).splitlines()[0]}") from None
    with connected as client:
        futures = [client.submit(function, **point, pure=False) for point in points]
        for done, future in enumerate(as_completed(futures), start=1):  # type: ignore[no-untyped-call]
            if future.status == "error":
                client.cancel(futures)
                future.result()
            if progress is not None:
                progress(done, len(points))
        return list(client.gather(futures))
