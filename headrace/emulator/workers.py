"""The workers of a Dask cluster, where functions are called. One that is lost meanwhile isn't waited for; Dask itself
would wait half a minute."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from headrace.errors import HeadraceError

_LOOK_S = 0.5
_TRIES = 3


def connect(address: str) -> Any:
    """A client of a scheduler, for a ``with`` statement. Raises HeadraceError."""
    from distributed import Client

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        return Client(address)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise HeadraceError(f"cluster {address}: {str(error).splitlines()[0]}") from None


def there(client: Any) -> set[str]:
    """The workers that the scheduler has. Raises HeadraceError when it is lost.

    What the client itself knows of them (``scheduler_info``) is without workers whenever it has just been refreshed.
    """
    try:
        if client.scheduler is None:
            raise ConnectionError
        return set(client.sync(client.scheduler.identity, n_workers=-1)["workers"])
    except OSError:
        raise HeadraceError("the cluster's scheduler is lost") from None


def call(
    client: Any, workers: Iterable[str], function: Callable[..., Any], *arguments: Any, question: bool = False
) -> dict[str, Any]:
    """What a function gives on each of some workers, or what it raises as HeadraceError. Those that are lost are left
    out. ``question``: it changes nothing, and is called again where only the way to a worker has broken. Raises
    HeadraceError when the scheduler is lost."""
    waiting, found = there(client).intersection(workers), {}
    answers: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()

    def one(worker: str) -> None:
        for _ in range(_TRIES if question else 1):
            try:
                answer = client.run(function, *arguments, workers=[worker], on_error="return")[worker]
            except BaseException as error:
                answer = error
            if not isinstance(answer, OSError) or worker not in there(client):
                break
            time.sleep(_LOOK_S)
        answers.put((worker, answer))

    for worker in waiting:
        threading.Thread(target=one, args=(worker,), daemon=True).start()
    while waiting:
        try:
            worker, answer = answers.get(timeout=_LOOK_S)
        except queue.Empty:
            waiting &= there(client)
            continue
        waiting.discard(worker)
        if isinstance(answer, HeadraceError) or not isinstance(answer, BaseException):
            found[worker] = answer
    return found
