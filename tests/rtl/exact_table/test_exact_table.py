"""Exact-match tables of several sizes, and how full one gets."""

import pytest
import simulation
from soak import soak

BLOCKS = ("table_pkg", "exact_hash", "key_equal", "exact_table")


def simulate(bench: str, **parameters: int) -> None:
    simulation.simulate(
        "exact_table",
        bench,
        sources=[
            *simulation.rtl("pkg", "memory"),
            *(simulation.RTL / "switch" / f"{name}.sv" for name in BLOCKS),
        ],
        **parameters,
    )


@pytest.mark.parametrize(
    ("key", "entries", "tables", "stash", "moves"),
    [(5, 16, 4, 2, 3), soak(6, 16, 2, 4, 128), (7, 64, 8, 3, 16), soak(8, 64, 4, 4, 1), (264, 64, 4, 2, 128)],
)
def test_exact_table(key: int, entries: int, tables: int, stash: int, moves: int) -> None:
    simulate("bench_exact_table", KEY_W=key, RESULT_W=6, ENTRIES=entries, TABLES=tables, STASH=stash, MAX_MOVES=moves)


def test_how_full_an_exact_table_gets() -> None:
    simulate("bench_exact_table_load", KEY_W=32, RESULT_W=16, ENTRIES=1024)
