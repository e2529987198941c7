# SPDX-License-Identifier: Apache-2.0
"""The optimised model of a card, and harness, where it runs with what was built soonest: built in the background, by a
process of the lowest priority, once the card has run for some seconds. Later runs use them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from headrace.build import libraries, models, toolchain
from headrace.build.description import CardDescription, Value, load_card

AFTER_S = 2.0
"""Seconds that a card's model has taken before a better one is worth its build."""
_LOWEST = 19

_started: list[subprocess.Popen[bytes]] = []  # looked at again, so that none that has ended stays a zombie


class Later:
    """Has a card's optimised model built once the card has run for ``AFTER_S``, where it runs with another one."""

    def __init__(self, description: CardDescription, parameters: Mapping[str, Value], trace: bool) -> None:
        self._description, self._parameters, self._trace = description, parameters, trace
        self._started = False

    @classmethod
    def of(
        cls, used: Sequence[Path], description: CardDescription, parameters: Mapping[str, Value], trace: bool
    ) -> Later | None:
        """That of a card which uses these libraries; None where there is nothing to be built later."""
        if not any(map(toolchain.is_first, used)) or toolchain.when_optimised() != "later":
            return None
        return cls(description, parameters, trace)

    def ran(self, seconds: float) -> None:
        """The card's model has taken so many seconds so far."""
        if self._started or seconds < AFTER_S:
            return
        self._started = True
        if not models.is_being_optimised(self._description, self._parameters, self._trace):
            _start([str(self._description.path), json.dumps(dict(self._parameters)), json.dumps(self._trace)])


def _start(words: Sequence[str]) -> None:
    """A process that does ``main``. Ctrl-C is for the run, not for it."""
    _started[:] = [process for process in _started if process.poll() is None]
    command = [sys.executable, "-m", __name__, *words]
    none = subprocess.DEVNULL
    _started.append(subprocess.Popen(command, stdin=none, stdout=none, stderr=none, start_new_session=True))


def main(card: str, parameters: str, trace: str) -> None:
    """Builds it. Raises HeadraceError."""
    os.nice(_LOWEST)
    libraries.harness_library(first=False)
    models.build_card(load_card(card), json.loads(parameters), trace=json.loads(trace), progress=False, optimised=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
