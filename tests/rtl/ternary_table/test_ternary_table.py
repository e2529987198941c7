"""Ternary tables of several sizes, which need not be powers of two."""

import pytest
import simulation
from soak import soak


@pytest.mark.parametrize(
    ("key", "entries", "chunk"),
    [(2, 1, 2), soak(8, 8, 4), (13, 20, 5), soak(11, 9, 6), (40, 128, 5), (264, 12, 5), soak(264, 16, 4)],
)
def test_ternary_table(key: int, entries: int, chunk: int) -> None:
    simulation.simulate(
        "ternary_table",
        sources=[
            *simulation.rtl("pkg", "memory"),
            *(simulation.RTL / "switch" / f"{name}.sv" for name in ("table_pkg", "first_set", "ternary_table")),
        ],
        KEY_W=key,
        ENTRIES=entries,
        CHUNK_W=chunk,
    )
