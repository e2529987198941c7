"""A direction of an emulated link: all widths."""

from pathlib import Path

import pytest
import simulation

SOURCES = [
    *simulation.rtl("pkg", "memory", "stream"),
    simulation.RTL / "memory" / "number_pool.sv",
    *(path for path in simulation.rtl("link") if path.stem not in ("link_engine", "link_ports")),
    Path(__file__).parent / "link_direction_on_bus.sv",
]


@pytest.mark.parametrize("parameters", [{"DATA_W": 128}, {"DATA_W": 512, "FRAME_KB": 4}], ids=str)
def test_link_direction(parameters: dict[str, int]) -> None:
    simulation.simulate("link_direction_on_bus", "bench_link_direction", folder="link", sources=SOURCES, **parameters)


@pytest.mark.parametrize("depth", [4, 64])
def test_link_heap(depth: int) -> None:
    simulation.simulate("link_heap", folder="link", sources=SOURCES[:-1], DEPTH=depth, REST_W=16)


@pytest.mark.parametrize("depth", [16, 512])
def test_link_soon(depth: int) -> None:
    simulation.simulate("link_soon", folder="link", sources=SOURCES[:-1], DATA_W=64, DEPTH=depth)
