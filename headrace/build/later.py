# SPDX-License-Identifier: Apache-2.0
"""The better model of a card, built in the background, by a process of the lowest priority, once the card has run for
some seconds: an optimised one, and harness, where it runs with what was built soonest; one by the run's profile, where
it runs with a model that gathers one. Later runs use them."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from headrace.build import libraries, models, toolchain
from headrace.build.description import CardDescription, Value, load_card
from headrace.build.toolchain import Tier

AFTER_S = 2.0
"""Seconds that a card's model has taken before a better one is worth its build."""
GATHER_S = 5.0
"""Seconds that a card's model has taken before its profile tells what such runs do."""
_LOWEST = 19
_PROFILED = "profiled"

_started: list[subprocess.Popen[bytes]] = []  # looked at again, so that none that has ended stays a zombie


class Later:
    """Has a card's better model built once the card has run for ``AFTER_S``, or ``GATHER_S``."""

    def __init__(
        self, description: CardDescription, parameters: Mapping[str, Value], trace: bool, gathering: Path | None = None
    ) -> None:
        """``gathering``: the model, where it gathers a profile."""
        self._description, self._parameters, self._trace = description, parameters, trace
        self._gathering, self._started = gathering, False

    @classmethod
    def of(
        cls, used: Sequence[Path], description: CardDescription, parameters: Mapping[str, Value], trace: bool
    ) -> Later | None:
        """That of a card which uses these libraries, first its model; None where there is nothing to be built later."""
        tiers = [Tier.of(library) for library in used]
        if tiers[0] is Tier.GATHERING:
            return cls(description, parameters, trace, used[0])
        if Tier.FIRST not in tiers or toolchain.when_optimised() != "later":
            return None
        return cls(description, parameters, trace)

    def ran(self, seconds: float) -> None:
        """The card's model has taken so many seconds so far."""
        if self._started or seconds < (AFTER_S if self._gathering is None else GATHER_S):
            return
        self._started = True
        words = [str(self._description.path), json.dumps(dict(self._parameters)), json.dumps(self._trace)]
        if self._gathering is not None:
            with contextlib.suppress(OSError):  # a full disk: another run gathers it
                models.keep_profile(self._gathering)
                _start([*words, _PROFILED])
        elif not models.is_being_optimised(self._description, self._parameters, self._trace):
            _start(words)


def _start(words: Sequence[str]) -> None:
    """A process that does ``main``. Ctrl-C is for the run, not for it."""
    _started[:] = [process for process in _started if process.poll() is None]
    command = [sys.executable, "-m", __name__, *words]
    none = subprocess.DEVNULL
    _started.append(subprocess.Popen(command, stdin=none, stdout=none, stderr=none, start_new_session=True))


def main(card: str, parameters: str, trace: str, how: str = "") -> None:
    """Builds it. Raises HeadraceError."""
    os.nice(_LOWEST)
    libraries.harness_library(first=False)
    description, values, traced = load_card(card), json.loads(parameters), json.loads(trace)
    if how == _PROFILED:
        models.build_profiled(description, values, trace=traced, progress=False)
    else:
        models.build_card(description, values, trace=traced, progress=False, optimised=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
