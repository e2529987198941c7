# SPDX-License-Identifier: Apache-2.0
"""A block of one's own, as tests see it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headrace.synth.own import module_files
from headrace.testing import simulation


@dataclass(frozen=True)
class Block:
    """The module that a file holds and is named after. It may use modules beside it, and all blocks of Headrace.

    benches  the folder of its benches, in whose ``build`` folder logs land
    """

    file: Path
    benches: Path

    def simulate(self, bench: str | None = None, *, build_args: Sequence[str] = (), **parameters: int) -> None:
        """Build the block with ``parameters`` and run every cocotb test of a bench on it.

        bench       name of a module without .py; default: bench_<block>
        build_args  more options for Verilator

        The bench reads parameters from its handle (dut.WIDTH.value). Random numbers repeat: see COCOTB_RANDOM_SEED.
        Raises AssertionError when a cocotb test fails, RuntimeError when the simulation ends before, HeadraceError when
        the build fails.
        """
        __tracebackhide__ = True  # pytest shows the test
        block = self.file.stem
        name = "-".join(f"{key.lower()}{value}" for key, value in parameters.items()) or "default"
        program = simulation.build(block, module_files(self.file), parameters, build_args)
        sys.path.insert(0, str(self.benches.resolve()))
        try:
            simulation.run(program, bench or f"bench_{block}", self.benches / "build" / block / name)
        finally:
            sys.path.pop(0)
