"""Prepares the environment of every RTL test, and counts the benches that passed before and weren't run again."""

from collections.abc import Iterator

import pytest
import simulation

from headrace.testing.simulation import use_verilator

use_verilator()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    simulation.kept.clear()
    try:
        return (yield)
    finally:
        if simulation.kept:
            item.user_properties.append(("kept", len(simulation.kept)))
