"""The action processor, with the fewest and the most tables."""

import pytest
import simulation

FOLDER = simulation.RTL / "switch"
PARTS = ("memory", "fetch", "set", "sequence", "execute", "processor")
SOURCES = [
    *(FOLDER / f"{name}.sv" for name in ("switch_pkg", "switch_step_pkg", "exact_hash", "checksum_sums")),
    *simulation.rtl("pkg", "memory", "stream"),
    *(FOLDER / f"action_{part}.sv" for part in PARTS),
]


@pytest.mark.parametrize(("tables", "words", "groups"), [(1, 1024, 64), (14, 4096, 256)])
def test_action_processor(tables: int, words: int, groups: int) -> None:
    simulation.simulate("action_processor", sources=SOURCES, TABLES=tables, PROGRAM_WORDS=words, GROUPS=groups)
