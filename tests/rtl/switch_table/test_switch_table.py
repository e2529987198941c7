"""A flow table with the narrow and the full key."""

import pytest
import simulation
from soak import soak

FOLDER = simulation.RTL / "switch"
PARTS = ("exact_hash", "key_equal", "exact_table", "first_set", "ternary_table")
SOURCES = [
    FOLDER / "switch_pkg.sv",
    FOLDER / "table_pkg.sv",
    *simulation.rtl("pkg", "memory", "stream"),
    *(FOLDER / f"{name}.sv" for name in PARTS),
    *(FOLDER / f"flow_{part}.sv" for part in ("counters", "timeouts", "effects")),
    FOLDER / "switch_table.sv",
]


@pytest.mark.parametrize(
    ("tables", "exact", "ternary", "chunk", "narrow"),
    [(3, 64, 16, 5, 1), soak(1, 16, 5, 4, 1), (14, 64, 66, 5, 0)],
)
def test_switch_table(tables: int, exact: int, ternary: int, chunk: int, narrow: int) -> None:
    simulation.simulate(
        "switch_table",
        sources=SOURCES,
        TABLES=tables,
        EXACT=exact,
        TERNARY=ternary,
        EFFECTS=16,
        CHUNK_W=chunk,
        NARROW=narrow,
    )
