"""``--update-docs``: a whole study, with loads that cost nothing, goes into its page and the page's figures."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from headrace import paths
from headrace.cli import main
from headrace.evaluate import measured, study
from headrace.evaluate.committed import MEASUREMENTS
from headrace.evaluate.figures import slots, stale
from headrace.evaluate.loads import filter as filter_loads
from headrace.evaluate.loads import host as host_loads
from headrace.evaluate.loads import switch as switch_loads
from headrace.evaluate.loads.bridge import BothWays, Step, Throughput, Trace
from headrace.evaluate.loads.bridge_traffic import Latency
from headrace.evaluate.loads.capture import Flow, Single
from headrace.evaluate.loads.coverage import Coverage, Resiliency
from headrace.evaluate.loads.emulator import FIVE, Streamed
from headrace.evaluate.loads.emulator_card import Cut
from headrace.evaluate.loads.emulator_fabrics import WAYS, Datagrams, Pair, Stream
from headrace.evaluate.loads.fir import Filtering
from headrace.evaluate.loads.host_paths import MEMORY, Cost
from headrace.evaluate.loads.openflow import Stale
from headrace.evaluate.loads.ovs_rates import Connections, Flood
from headrace.evaluate.loads.pcie_link import Moved
from headrace.evaluate.loads.rpu import Limit, Stay, Swap
from headrace.evaluate.measured import Sources
from headrace.evaluate.study import (
    bridge,
    bridge_figures,
    bridge_page,
    capture,
    capture_figures,
    capture_page,
    emulator,
    emulator_figures,
    emulator_page,
    emulator_points,
    files,
    host,
    host_figures,
    host_page,
    rpu,
    rpu_figures,
    rpu_page,
    switch,
    switch_figures,
    switch_page,
    switch_points,
)
from headrace.evaluate.study import filter as filter_study
from headrace.evaluate.study.bridge_rows import SizeRow
from headrace.evaluate.study.capture_rows import KernelRow
from headrace.evaluate.study.emulator_switching import Beside
from headrace.evaluate.study.filter_rows import PartRow

REPOSITORY = paths.share()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "tree"
    for folder in ("rtl", "regs", "sim", "firmware", "headrace", "docs"):
        shutil.copytree(REPOSITORY / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "README.md", root)
    monkeypatch.setattr(measured.paths, "share", lambda: root)
    return root


def bridge_load(kind: str, **point: Any) -> Any:
    """1 Mb/s a KB of buffer; 8 of 10 packets of a trace."""
    size = point.get("size", 60)
    latency = Latency(100, 1e3, 2e3, 3e3, 4e6, 0)
    if kind in ("to_software", "to_hardware"):
        kb = max(1, point["buffer_kb"])
        return Throughput(size, point["messages"], 10, kb * 1e6 * (15 if kb == 1 else 10 if kb == 64 else 2), 0)
    if kind == "trace":
        steps = tuple(Step(n * point["step_s"], 4e7, 3.6e7, 1e6, 4.0) for n in range(5))
        return Trace(steps, 1000, 800, 400, latency)
    return BothWays(size, 0.9987, 1.0, 3, 0) if kind == "both_ways" else latency


def capture_load(kind: str, **point: Any) -> list[Any]:
    """A cycle for each 4 bytes and 20 more; a stream of 60-byte packets at 2.48 cycles each."""
    found: list[Any] = []
    for size in point["sizes"]:
        number = size if isinstance(size, int) else 300
        if kind in ("single", "together"):
            count = point["count"] if kind == "single" else len(point["counts"])
            cycles = tuple(number // 4 + 20 + n for n in range(count))
            found.append(Single(number, cycles, tuple(c + 11 for c in cycles), 0))
        else:
            found.append(Flow(number, 1000, 2480, 1000 * (number + 16), 0.976, 0.9, 60, 326))
    return found


def run_here(monkeypatch: pytest.MonkeyPatch, module: ModuleType, loads: Any) -> None:
    """Points of a study, and what it builds for them."""

    def run(_function: Any, points: Sequence[dict[str, Any]], *_: Any, **__: Any) -> list[Any]:
        return [None if point["kind"] == "build" else loads(**point) for point in points]

    monkeypatch.setattr(study, "run_points", run)
    monkeypatch.setattr(module, "run_points", run, raising=False)


def draw_only(monkeypatch: pytest.MonkeyPatch, module: ModuleType, names: Iterable[str]) -> None:
    """Only the figures that a page shows: the others cost time."""
    save = module.save
    monkeypatch.setattr(module, "save", lambda figures, *rest: save({name: figures[name] for name in names}, *rest))


def lines_of(table: str) -> dict[str, list[str]]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()]
    return {row[0]: row[1:] for row in rows}


def test_the_bridges_study_goes_into_its_page(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_here(monkeypatch, bridge, bridge_load)
    sizes = [
        SizeRow("h2s", "Headrace, 64 KB", "measured", 600, 500, 16),
        SizeRow("bridge_control", "Headrace, registers", "measured", 900, 800, 0),
        SizeRow("h2s", "EmbedNet, 64 KB", "published", 782, 523, 16),
    ]
    monkeypatch.setattr(bridge, "resources", lambda: sizes)
    draw_only(monkeypatch, bridge_figures, bridge_page.FIGURES)
    assert main(["study", "bridge", "--out", str(tmp_path / "out"), "--update-docs"]) == 0
    page = (tree / "docs/study-bridge.md").read_text()
    found = slots(page)
    published = lines_of(found["bridge.published"])
    ratios = [float(cells[2].split()[0]) for cells in list(published.values())[2:]]
    fitted = ["fitted" in cells[2] for cells in list(published.values())[2:]]
    assert fitted == sorted(fitted) and sum(fitted) == 4
    distances = [max(ratio, 1 / ratio) for ratio, known in zip(ratios, fitted, strict=True) if not known]
    assert distances == sorted(distances, reverse=True)
    assert published["figure 5.3: 64 KB, 1,500 bytes, to hardware"][:3] == ["120 Mb/s", "640", "5.33"]
    assert published["table 5.2: H2S, 64 KB of local memory, LUTs"][:3] == ["782", "600", "0.77"]
    assert lines_of(found["bridge.throughput"])["to software, 64 bytes"][-2:] == ["640.0", "43"]
    assert found["bridge.wire"] == "at least 99.9%" and found["bridge.single_delivered"] == "80%"
    assert "bridge_control, Headrace, registers" in found["bridge.sizes"]
    assert stale([MEASUREMENTS["study bridge"]], Sources(tree)) == []
    assert "</svg>" in (tree / "docs/images/study-bridge-timeouts.svg").read_text()


def test_one_colour_is_one_mode_in_every_panel(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_here(monkeypatch, bridge, bridge_load)
    monkeypatch.setattr(bridge, "resources", list)
    _, figure = bridge_figures._adaptive(bridge.measure(full=True))
    assert figure is not None and len(figure.axes) == 4
    colours: dict[str, set[str]] = {}
    for axes in figure.axes:
        for line in axes.get_lines():
            colours.setdefault(str(line.get_label()), set()).add(str(line.get_color()))
    assert set(colours) == {"single", "64 KB, 100 ms", "64 KB, 10 ms", "64 KB, 1 ms", "adaptive", "target"}
    assert all(len(found) == 1 for found in colours.values())
    assert len(set.union(*colours.values())) == len(colours)


def test_the_captures_study_goes_into_its_page(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_here(monkeypatch, capture, capture_load)
    ways = ("no receiver", "blocking AF_PACKET socket", "tcpdump (libpcap)", "AF_PACKET ring (iface: link)")
    rows = [
        KernelRow(way, size, 9, 9, 1.0, 1.0, 1234.0, 5800.0 if "blocking" in way else None)
        for way in (*ways, "AF_XDP (xdp: link)")
        for size in (72, 1064)
    ]
    monkeypatch.setattr(capture, "measure_kernel_path", lambda _count: rows)
    draw_only(monkeypatch, capture_figures, capture_page.FIGURES)
    assert main(["study", "capture", "--out", str(tmp_path / "out"), "--update-docs"]) == 0
    found = slots((tree / "docs/study-capture.md").read_text())
    assert found["capture.cycles_60"] == "2.48" and found["capture.stream_share"] == "97.6%"
    assert found["capture.width_1064"] == "336, 336, 336" and found["capture.wire_lag"] == "326"
    assert lines_of(found["capture.table"])["72 bytes"][:3] == ["73", "49", "88"]
    assert lines_of(found["capture.software"])["tcpdump (libpcap)"] == ["1.2 µs", "1.2 µs"]
    assert stale([MEASUREMENTS["study capture"]], Sources(tree)) == []


def filter_load(kind: str, **point: Any) -> Any:
    """Nothing is lost in 2 cycles; a core is enough for every second packet."""
    clock, count = 500_000_000, point["count"]
    if kind == "sized":
        return [filter_loads.Sized(size, count, 0, 0, 0, 2, clock) for size in point["sizes"]]
    expression = point["expression"]
    if kind == "mixed":
        return filter_loads.Mixed(expression, point["cores"], count, count // 2 * (point["cores"] < 2), 1.0, clock)
    return [filter_loads.Classed(expression, each.name, count, 0, 7.0) for each in filter_loads.CLASSES[expression]]


def test_the_filters_study_goes_into_its_page(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_here(monkeypatch, filter_study, filter_load)
    monkeypatch.setattr(filter_study.filter_loads, "build", lambda _cores: None)
    monkeypatch.setattr(filter_study, "parts", lambda: [PartRow("core", "FFShark, Vivado", 3600, 1161, 23.5, 0)])
    assert main(["study", "filter", "--out", str(tmp_path / "out"), "--update-docs"]) == 0
    found = slots((tree / "docs/study-filter.md").read_text())
    assert lines_of(found["filter.sizes"])["60 bytes"] == ["1,000", "0", "0"]
    assert lines_of(found["filter.insertion"])["1,572 bytes"] == ["456", "126", "330", "2", "4.0"]
    assert lines_of(found["filter.classes"])["table III: HTTP with data"] == ["5%", "28", "7"]
    assert lines_of(found["filter.cores"])["table III, 1 core of ours"] == ["6", "6", "8", "20,000", "10,000", "1.00"]
    assert lines_of(found["filter.parts"])["core: FFShark, Vivado"] == ["3,600", "1,161", "23.5", "0"]
    assert stale([MEASUREMENTS["study filter"]], Sources(tree)) == []


def test_a_study_is_drawn_anew_from_its_points(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_here(monkeypatch, filter_study, filter_load)
    monkeypatch.setattr(filter_study.filter_loads, "build", lambda _cores: None)
    monkeypatch.setattr(filter_study, "parts", lambda: [PartRow("core", "FFShark, Vivado", 3600, 1161, 23.5, 0)])
    first, again = tmp_path / "first", tmp_path / "again"
    assert main(["study", "filter", "--out", str(first), "--update-docs"]) == 0
    points, image = tree / "docs/points/study-filter.json", tree / "docs/images/study-filter-insertion.svg"
    drawn, figures = image.read_text(), (tree / "docs/figures.json").read_text()
    assert points.read_text() == (first / "study.json").read_text()
    monkeypatch.setattr(filter_study, "sweep", None)  # nothing can be measured from here on
    image.write_text("")
    assert main(["study", "filter", "--from", str(points), "--out", str(again), "--update-docs"]) == 0
    assert image.read_text() == drawn and (tree / "docs/figures.json").read_text() == figures
    assert (again / "report.md").read_text() == (first / "report.md").read_text()
    assert "Our card adds 2 cycles" in (first / "report.md").read_text()
    points.write_text(points.read_text().replace('"latency_cycles":2,', '"latency_cycles":70,'))
    assert main(["study", "filter", "--from", str(points), "--out", str(again)]) == 0
    assert "Our card adds 70 cycles" in (again / "report.md").read_text()
    capsys.readouterr()
    assert main(["study", "filter", "--from", str(first / "study.json"), "--out", str(again), "--update-docs"]) == 2
    assert "--update-docs draws docs/points/study-filter.json, not" in capsys.readouterr().err
    assert main(["study", "rpu", "--from", str(points), "--out", str(again)]) == 1
    assert f"{points}: no points of this study: KeyError" in capsys.readouterr().err
    assert main(["study", "filter", "--from", str(points), "--full"]) == 2
    assert "--from measures nothing: leave out --full and --cluster" in capsys.readouterr().err


def rpu_load(kind: str, units: int, **point: Any) -> Any:
    """16 cycles a packet and unit, but no more than a line; a us for each unit that is changed."""
    if kind == "swap":
        return Swap(*(1000 * point["changed"] for _ in range(3)), 0, 50.0, 50.0)
    [size] = point["sizes"]
    if kind == "stay":
        return [Stay(size, load, 100, 30.0, 40.0, 50.0, 250_000_000) for load in point["loads"]]
    cycles = max(16 / units, (size + 20) / 50)
    return [Limit(size, 1000, round(1000 * cycles), 250_000_000)]


def test_the_rpus_study_goes_into_its_page(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_here(monkeypatch, rpu, rpu_load)
    monkeypatch.setattr(rpu.rpu_loads, "build", lambda _units: None)
    draw_only(monkeypatch, rpu_figures, rpu_page.FIGURES)
    assert main(["study", "rpu", "--out", str(tmp_path / "out"), "--update-docs"]) == 0
    found = slots((tree / "docs/study-rpu.md").read_text())
    assert lines_of(found["rpu.rates"])["64 bytes"] == ["76.2", "64.0", "64.0", "64.0", "64.0", *["8.0"] * 4]
    assert lines_of(found["rpu.crc"])["1,500 bytes"] == ["98.7", "98.7", "98.7"]
    assert lines_of(found["rpu.cycles"])["1,500 bytes"] == ["106", *["30.4"] * 4]
    assert lines_of(found["rpu.stays"])["64 bytes"] == ["160 (30 to 50)"] * 3
    assert lines_of(found["rpu.swaps"])["8"][:6] == ["8.0", "8.0", "8.0", "24.0", "112 to 225", "16.50"]
    assert found["rpu.bitstream"] == "7 to 14"
    assert stale([MEASUREMENTS["study rpu"]], Sources(tree)) == []


def switch_load(kind: str, **point: Any) -> Any:
    """A packet a cycle of 1 GHz; 10 cycles a table; a LUT for each entry."""
    clock = 1_000_000_000
    if kind == "latency":
        return switch_loads.Latency(point["tables"], 64, 100, 10 * point["tables"], 10 * point["tables"], clock)
    if kind == "limit":
        return switch_loads.Limit(point["tables"], 1000, 1000, clock)
    if kind == "carried":
        return [switch_loads.Carried(point["tables"], size, 1000, 1000, clock) for size in point["sizes"]]
    if kind == "connections":
        return switch_loads.Carried(point["tables"], point["payload"] + 58, 1000, 1000, clock)
    if kind == "fir":
        return switch_loads.Filtered(point["samples"], 1000, 1000 * point["samples"], clock)
    if kind == "stale_packets":
        return Stale(point["trials"], 0, 0)
    return switch.Size(point["entries"], 0, 0, 1.0)


def test_the_switches_study_goes_into_its_page(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_here(monkeypatch, switch, switch_load)
    monkeypatch.setattr(switch.switch_loads, "build", lambda _tables: None)
    monkeypatch.setattr(switch.ovs, "available", lambda: "not here")
    monkeypatch.setattr(
        switch.fir, "measure", lambda samples: [Filtering(way, samples, 2.0) for way in ("NumPy", "C++")]
    )
    connections = [
        Connections(tables, data, payload, 4500, 1e5, 1e4, 1e3)
        for tables, data, payload in {(1, *case) for case in switch.CONNECTIONS_KPPS}
        | {(n, 1, 100) for n in switch_points.DEPTHS}
    ]
    monkeypatch.setattr(switch.ovs_rates, "connections", lambda _cases: connections)
    monkeypatch.setattr(switch.ovs_rates, "floods", lambda sizes, _count: [Flood(n, "one", 1e5, 1e4) for n in sizes])
    draw_only(monkeypatch, switch_figures, switch_page.FIGURES)
    assert main(["study", "switch", "--out", str(tmp_path / "out"), "--update-docs"]) == 0
    found = slots((tree / "docs/study-switch.md").read_text())
    assert lines_of(found["switch.depths"])["8"] == ["80", "80", "1.00", "14,500", "1,000"]
    assert lines_of(found["switch.connections"])["1, 100 bytes"] == [
        *("6.0", "19.6", "3.3", "1,000,000", "100", "100", "1,000")
    ]
    assert lines_of(found["switch.small"])["100 bytes"] == ["166.7", "800.0", "0.08", "0.08", "0.79", "1.21"]
    assert lines_of(found["switch.sizes"])["exact, 1,024 entries"] == ["1,024", "0", "0", "1", "47"]
    assert lines_of(found["switch.fir"])["64"] == ["32.0", "2.0", "2.00"]
    assert lines_of(found["switch.barriers"])["card, modified"] == ["200", "0", "0"]
    assert stale([MEASUREMENTS["study switch"]], Sources(tree)) == []


def host_load(kind: str, **point: Any) -> Any:
    """A cycle for 16 bytes and 250 for each transfer; a packet's size in cycles; an interrupt for 2 packets."""
    if kind == "pcie":
        sizes = [(each["count"], each["size"]) for each in point["transfers"]]
        return [Moved(count * size, count * (250 + size // 16), 0) for count, size in sizes]
    if kind == "latency":
        return host_loads.Latency(point["size"], 20, point["read_latency_ns"], point["size"], point["size"])
    frames = point["frames"]
    return host_loads.Moderated(point["packets"], point["time_ns"], point["gap_ns"], frames, frames // 2, 1e3, 2e3)


def test_the_hosts_study_goes_into_its_page(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_here(monkeypatch, host, host_load)
    monkeypatch.setattr(host, "_build", lambda _points: None)
    monkeypatch.setattr(host.pcie_link, "why_not", lambda: None)
    monkeypatch.setattr(host.host_paths, "measure", lambda n: ([Cost(MEMORY, n, 5e3), Cost("TAP", n, 7e3)], ""))
    draw_only(monkeypatch, host_figures, host_page.FIGURES)
    assert main(["study", "host", "--out", str(tmp_path / "out"), "--update-docs"]) == 0
    found = slots((tree / "docs/study-host.md").read_text())
    assert lines_of(found["host.payloads"])["256 bytes"] == ["58.4", "57.6", "16.2", "58.4", "16.2"]
    assert lines_of(found["host.windows"])["64"] == ["30.2", "52%"]
    transfers = lines_of(found["host.transfers"])
    assert transfers["1,024 bytes"] == ["6.5", "6.5", "6.5", "3.3", "3.3", "3", "1.09"]
    assert transfers["1,048,576 bytes"] == ["", "", "", "", "15.9", "40", "0.40"]
    assert lines_of(found["host.links"])["4.0 x8"] == ["126.0", "116.9", "30.2", "115.2", "30.2", "128"]
    assert "70 and more of 128" in found["host.links"]
    assert lines_of(found["host.latencies"])["64 bytes"] == ["64", "256", "64", "256"]
    assert lines_of(found["host.moderations"])["4 packets, 20 us"][1:] == ["2.0", "100,000", "1,000", "2,000"]
    assert lines_of(found["host.paths"])["TAP"][1:] == ["7.0", "2.0"]
    assert stale([MEASUREMENTS["study host"]], Sources(tree)) == []


def emulator_load(kind: str, **point: Any) -> Any:
    """All nodes are reached from two PHYs on; a link in four is missed, and half of those jammed are found again. The
    card takes a million packets a second, and a Gb/s of each stream."""
    if kind == "cut":
        return Cut(point["segment"], 4, 180, 0, (1e9,) * point["streams"])
    if kind == "carried":
        return host_loads.Carried(1, point["size"], 1, 1, 0, 1, 1, 250, 0, 0, 0, 0)
    if kind == "latency":
        return host_loads.Latency(point["size"], 20, 1_000, 900, 1_000)
    if kind == "fir":
        return switch_load(kind, **point)
    if kind == "resiliency":
        jammed = point["jammed"]
        return Resiliency(20, jammed, 1.0, 1 - jammed / 100, 1 - jammed / 200, 0.5, 1.0, jammed / 2)
    whole = point["phys"] > 1
    return Coverage(220, 220 * whole, 220, 1.0 if whole else 0.25, 0.125)


def beside() -> Beside:
    """Through Open vSwitch a Mb/s for each byte of a datagram."""
    sizes = {*emulator_points.SIZES, *(4 * count for count in emulator_points.SAMPLES)}
    return Beside(
        [Pair("ovs", 5e8, 2e-4)],
        [Datagrams("ovs", size, way, 1e6 * size) for size in sizes for way in WAYS],
        dict.fromkeys(emulator_points.SIZES, 1e7),
        [Stream("ovs", *ends, 1e8, 0) for ends in FIVE[6]],
    )


def test_the_emulators_study_goes_into_its_page(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_here(monkeypatch, emulator, emulator_load)
    monkeypatch.setattr(emulator.emulator_card, "build", lambda: None)
    monkeypatch.setattr(emulator.switching, "beside", lambda _full, _report: beside())
    loads = emulator.traffic_loads
    monkeypatch.setattr(
        loads, "single_streams", lambda n, sizes, _s: [loads.Single(n, size, 1e7, 4e7, 0.1, 5e6) for size in sizes]
    )
    monkeypatch.setattr(loads, "five_streams", lambda _nodes, _s: [Streamed(1, 2, 1, 3e7, 9, 9, 0)])
    monkeypatch.setattr(loads, "table_streams", lambda pairs, _s: [Streamed(*pair, 2, 1e7, 9, 9, 0) for pair in pairs])
    draw_only(monkeypatch, emulator_figures, emulator_page.FIGURES)
    assert main(["study", "emulator", "--out", str(tmp_path / "out"), "--update-docs"]) == 0
    found = slots((tree / "docs/study-emulator.md").read_text())
    assert lines_of(found["emulator.coverage"])["2"] == ["1", "1", "T", *["T: 220 of 220, 100.0%"] * 3]
    assert lines_of(found["emulator.phys"])["1, one endpoint"] == ["25.0% (12%)"] * 3
    assert lines_of(found["emulator.resiliency"])["450 m, 24 jammed"] == [
        *("76.0%", "88.0%", "50.0% to 100.0%", "44.8%", "12.0", "10", "12")
    ]
    assert lines_of(found["emulator.singles"])["32 nodes, 1,400 bytes"] == ["10.0", "40.0", "10.0%", "5.0"]
    assert lines_of(found["emulator.five"])["6 nodes, n1 to n2"] == ["1", "30.0", "0"]
    assert lines_of(found["emulator.grid"])["n10 to n23"] == ["2", "10.0", "22.5", "0.44", "0"]
    assert lines_of(found["emulator.pairs"])["Open vSwitch here"] == ["0.50", "200.0"]
    assert lines_of(found["emulator.small"])["100 bytes"] == ["0.80", "1.00", "0.10", "0.010", "0.79", "1.21"]
    assert lines_of(found["emulator.six"])["all together"] == ["5.00", "0.50", "", "0"]
    assert lines_of(found["emulator.filtered"])["1,024"] == ["32.0", "4.10", "4.10", "4.10", "1.0"]
    assert stale([MEASUREMENTS["study emulator"]], Sources(tree)) == []


def test_without_root_the_software_path_stays_as_it_was(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_here(monkeypatch, capture, capture_load)
    monkeypatch.setattr(capture, "_kernel_path", lambda *_: ([], "needs root"))
    before = slots((tree / "docs/study-capture.md").read_text())["capture.software"]
    monkeypatch.setattr(files, "write", lambda _study, folder, *_: _figures(folder))
    assert main(["study", "capture", "--out", str(tmp_path / "out"), "--update-docs"]) == 0
    assert slots((tree / "docs/study-capture.md").read_text())["capture.software"] == before


def _figures(folder: Path) -> None:
    for name in ("figure_5_3", "streams"):
        (folder / f"{name}.svg").write_text("<svg/>")
    (folder / files.POINTS).write_text("{}")
