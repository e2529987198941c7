"""What is measured in the nodes from outside: how long each link takes, and the routes of each node."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from emulator_bench import scenario

from headrace.emulator.client import Emulation
from headrace.emulator.probe import Route, routes

LINE = [(0, 0), (100, 0), (200, 0)]


def probe(name: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "headrace.emulator.probe", name]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def said(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    return dict(json.loads(process.stdout.readline()))


def test_the_kernel_s_table_is_read() -> None:
    text = (
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
        "phy0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
        "phy1\t0002000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
        "phy2\t0003000A\t00000000\t0000\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
    )
    assert routes(text) == [Route("0.0.0.0", 0, "10.0.0.1", "phy0", 100), Route("10.0.2.0", 24, "", "phy1", 0)]


def test_without_an_emulation_it_says_so() -> None:
    with probe("none-such") as process:
        assert process.wait() == 1
        assert process.stderr is not None
        assert process.stderr.read().startswith("headrace: no emulation none-such runs")


@pytest.mark.live
def test_each_link_is_measured_both_ways_and_routes_are_the_kernel_s(tmp_path: Path) -> None:
    path = scenario(tmp_path, LINE, 'routing = "shortest"\nphys = 2')
    with Emulation(path, hold=True) as emulation, probe(emulation.name) as process:
        first = said(process)
        for node, told in first["routes"].items():
            table = json.loads(emulation.run(f"n{int(node) + 1}", ["ip", "-json", "route"]).stdout)
            assert sorted((r["dst"], r["gateway"], r["dev"]) for r in table) == sorted((r[0], r[2], r[3]) for r in told)
        assert {int(node): len(told) for node, told in first["routes"].items()} == {0: 2, 1: 2, 2: 2}
        found = first
        while len(found["latency_s"]) < 4:  # a busy machine may take longer than until the next second
            found = said(process)
        assert [entry[:2] for entry in found["latency_s"]] == [[0, 0], [1, 0], [1, 1], [2, 0]]
        assert all(0 <= entry[2] < 1 for entry in found["latency_s"])
        emulation.jam("n2:n3")
        left: list[str] = []
        while len(found["latency_s"]) > 2 or left != ["10.0.0.2"]:
            found = said(process)
            left = [route[0] for route in found["routes"]["0"]] if "0" in found["routes"] else left
        emulation.stop()
        assert process.wait() == 0


@pytest.mark.live
def test_a_full_queue_shows_in_the_latency(tmp_path: Path) -> None:
    path = scenario(tmp_path, LINE[:2], 'routing = "shortest"\nphys = 1', "range_m = 150\nrate_bps = 1e6")
    with Emulation(path, hold=True) as emulation, probe(emulation.name) as process:
        flood = emulation.start(
            "n1", ["ping", "-q", "-i", "0.002", "-s", "1400", "-l", "60", "n2"], stdout=subprocess.DEVNULL
        )  # the queue holds 0.1 s, or 32,000 bytes: 0.26 s
        longest = 0.0
        while longest < 0.005:  # 625 bytes before it
            longest = max([longest, *(entry[2] for entry in said(process)["latency_s"] if entry[0] == 0)])
        flood.terminate()
        flood.wait()
        emulation.stop()
        process.wait()
