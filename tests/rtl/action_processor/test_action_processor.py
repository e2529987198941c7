"""The action processor, with the fewest and the most tables."""

import pytest
import simulation
from soak import soak

FOLDER = simulation.RTL / "switch"
PARTS = ("memory", "fetch", "set", "sequence", "execute", "processor")
SOURCES = [
    *(FOLDER / f"{name}.sv" for name in ("switch_pkg", "switch_step_pkg", "exact_hash", "checksum_sums")),
    *simulation.rtl("pkg", "memory", "stream"),
    *(FOLDER / f"action_{part}.sv" for part in PARTS),
]


@pytest.mark.parametrize(
    ("tables", "words", "groups", "narrow"), [soak(1, 1024, 64, 0), (14, 4096, 256, 0), (1, 1024, 64, 1)]
)
def test_action_processor(tables: int, words: int, groups: int, narrow: int) -> None:
    parameters = {"TABLES": tables, "PROGRAM_WORDS": words, "GROUPS": groups, "NARROW": narrow}
    simulation.simulate("action_processor", sources=SOURCES, **parameters)
