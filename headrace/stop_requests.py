"""Ctrl-C and SIGTERM as a wish to stop, not as an exception in the middle of things."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ONE_REQUEST_S = 0.5  # a signal to a process and to its group, as from timeout(1), is one request


class StopRequests:
    """In a ``with`` statement, the first SIGINT, SIGTERM or SIGHUP makes it true; a later one does what it always does.

    In threads other than the main one, signals are left alone.
    """

    def __init__(self) -> None:
        self._first: float | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __bool__(self) -> bool:
        return self._first is not None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                before = signal.getsignal(number)
                if before is not signal.SIG_IGN:  # as in a job of a shell's background, or under nohup
                    self._before[number] = signal.signal(number, self._request)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._restore()

    def _request(self, number: int, _frame: FrameType | None) -> None:
        if self._first is None:
            self._first = time.monotonic()
        elif time.monotonic() - self._first > _ONE_REQUEST_S:
            self._restore()
            signal.raise_signal(number)

    def _restore(self) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before.clear()
