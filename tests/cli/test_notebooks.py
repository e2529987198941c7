# SPDX-License-Identifier: Apache-2.0
"""The notebooks of examples/, cell after cell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from scapy.utils import RawPcapReader

from headrace import paths
from headrace.net import bpf

NOTEBOOKS = paths.share() / "examples" / "notebooks"


def run(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the variables are at the end of a notebook that runs in a folder."""
    monkeypatch.chdir(folder)
    matplotlib.use("agg")
    variables: dict[str, Any] = {}
    cells = json.loads((NOTEBOOKS / name).read_text())["cells"]
    for number, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{name}, cell {number}", "exec"), variables)
    return variables


def test_filters_count_what_libpcap_accepts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run("filter.ipynb", tmp_path, monkeypatch)
    packets = [(data, len(data)) for data, _ in RawPcapReader("traffic.pcap")]
    for program in found["report"].programs:
        assert program.matched == sum(map(bool, bpf.run_many(bpf.compile(program.expression), packets))) > 0
    assert sum(packets for packets, _ in found["counters"].values()) == len(packets)


def test_firmware_drops_every_second_packet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run("firmware.ipynb", tmp_path, monkeypatch)
    assert (found["seen"], found["passed"]) == (10, [0, 2, 4, 6, 8])
    assert {share.name for share in found["shares"]} >= {"main", "is_wanted"}
    assert found["profile"].packets == 2000


@pytest.mark.live
def test_a_jammed_node_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run("scenario.ipynb", tmp_path, monkeypatch)
    assert found["answers"] == {"before": True, "while n2 is jammed": False}
    assert 0 < found["planned"].coverage < 1
