# SPDX-License-Identifier: Apache-2.0
"""Tests and proofs of blocks: benches in cocotb (streams with stalls, tables under lookups) and properties that Yosys
and z3 prove, for blocks of one's own as for those of Headrace.

``block.Block`` and ``cases.Proofs`` are for files that pytest collects, ``streams`` and ``lookups`` for benches, which
run inside the simulator.
"""

from importlib.util import find_spec

from headrace.errors import HeadraceError


def check() -> None:
    """Raises HeadraceError where what tests need isn't installed."""
    for package in ("cocotb", "pytest"):
        if find_spec(package) is None:
            raise HeadraceError(f"tests need {package}: pip install 'headrace[test]'")


check()
