"""``headrace study --stale``: committed figures say what they were measured on; it lists the outdated."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from headrace import paths
from headrace.build.description import load_card
from headrace.cli import main
from headrace.errors import HeadraceError
from headrace.evaluate import figures, measured, statements
from headrace.evaluate.bench import MEASURED, Row, page
from headrace.evaluate.bench.groups import COST, GROUPS
from headrace.evaluate.committed import MEASUREMENTS, publish
from headrace.evaluate.figures import NOTE, fill, slots, stale
from headrace.evaluate.measured import Measurement, Sources, synthesised, tokens
from headrace.evaluate.study import (
    bridge_page,
    capture_page,
    emulator_page,
    filter_page,
    host_page,
    rpu_page,
    switch_page,
)

REPOSITORY = paths.share()
PAGES = (
    "README.md",
    "docs/performance.md",
    "docs/study-filter.md",
    "docs/study-capture.md",
    "docs/study-bridge.md",
    "docs/study-rpu.md",
    "docs/study-switch.md",
    "docs/study-host.md",
    "docs/study-emulator.md",
    "docs/stream.md",
)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources and the manual in which every figure has just been measured."""
    root = tmp_path_factory.mktemp("tree")
    for folder in ("rtl", "regs", "sim", "firmware", "headrace", "docs"):
        shutil.copytree(REPOSITORY / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "README.md", root)
    sources, entries = Sources(root), figures.read(root)
    now = {name: replace(entries[name], files=sources.digests(each)) for name, each in MEASUREMENTS.items()}
    figures.write(now, root)
    figures.fill_pages(MEASUREMENTS.values(), sources)
    return root


@pytest.fixture
def tree(fresh: Path, tmp_path: Path) -> Path:
    return shutil.copytree(fresh, tmp_path / "tree")


@pytest.fixture
def said(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[], tuple[int, list[str]]]:
    """Exit code and lines of ``study --stale`` in the tree."""
    monkeypatch.setattr(measured.paths, "share", lambda: tree)

    def run() -> tuple[int, list[str]]:
        code = main(["study", "--stale"])
        return code, capsys.readouterr().out.splitlines()

    return run


Said = Callable[[], tuple[int, list[str]]]


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_nothing_is_said_of_fresh_figures(said: Said) -> None:
    assert said() == (0, [])


def test_a_changed_file_makes_its_figures_stale_and_no_others(said: Said, tree: Path) -> None:
    change(tree / "rtl/bridge/h2s_lane.sv", "endmodule", "  wire changed = 1'b1;\nendmodule")
    assert said() == (
        1,
        [
            f"headrace {name}: rtl/bridge/h2s_lane.sv changed"
            for name in ("study bridge", "bench bridge", "bench bridge-fit", "bench sim")
        ],
    )


def test_what_all_cards_use_makes_all_figures_of_cards_stale(said: Said, tree: Path) -> None:
    change(tree / "rtl/pkg/headrace_pkg.sv", "endpackage", "  localparam int unsigned CHANGED = 1;\nendpackage")
    code, lines = said()
    of_cards = {f"headrace {name}" for name in MEASUREMENTS} - {
        "headrace bench size",
        "headrace bench stream",
        "headrace bench host-fit",
        "headrace bench rpu-fit",
        "headrace bench bridge-fit",
        "headrace bench stream-fit",
    }  # those are of single blocks
    assert code == 1 and {line.split(": ")[0] for line in lines} == of_cards


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("rtl/card/capture.toml", "default = 16\n", "default = 32\n"),
        ("regs/capture.rdl", "addrmap", "addrmap changed {}; addrmap"),
        ("sim/memory/axi_memory.h", "#pragma once", "#pragma once\n#define CHANGED"),
        ("headrace/evaluate/loads/capture.py", "WIRE_RATE = 100e9", "WIRE_RATE = 99e9"),
        ("headrace/evaluate/study/capture_points.py", "PAYLOADS = (", "PAYLOADS = (7, "),
    ],
)
def test_parameters_registers_harness_loads_and_points_count(
    said: Said, tree: Path, file: str, old: str, new: str
) -> None:
    change(tree / file, old, new)
    code, lines = said()
    assert code == 1 and f"headrace study capture: {file} changed" in lines


def test_the_firmware_of_a_card_counts(tree: Path) -> None:
    (tree / "rtl/card/boot.c").write_text("int lamp = 1;\n")
    with (tree / "rtl/card/capture.toml").open("a") as file:
        file.write('\n[firmware]\nsources = ["boot.c"]\n')
    before = digests("study capture", tree)
    (tree / "rtl/card/boot.c").write_text("int lamp = 2;\n")
    after = digests("study capture", tree)
    assert {name for name in after if after[name] != before.get(name)} == {"rtl/card/boot.c"}


def digests(command: str, tree: Path) -> dict[str, str]:
    return Sources(tree).digests(MEASUREMENTS[command])


def test_the_models_of_hosts_count(said: Said, tree: Path) -> None:
    change(tree / "headrace/cards/bridge/host.py", "PROFILES = {", "PROFILES = {} | {")
    assert said()[1] == [
        f"headrace {kind} bridge: headrace/cards/bridge/host.py changed" for kind in ("study", "bench")
    ]


def test_comments_docstrings_and_formatting_do_not_count(said: Said, tree: Path) -> None:
    change(tree / "rtl/bridge/h2s_lane.sv", "endmodule", "  // capture_card\nendmodule /* the end */")
    change(tree / "rtl/capture/ring_writer.sv", ";\n", "  ;\n\n\n")
    change(tree / "sim/wire/clock.h", "#pragma once", "// once\n#pragma once /* only */")
    change(tree / "headrace/evaluate/loads/capture.py", '"""', '"""Another head. ')
    change(tree / "headrace/evaluate/loads/capture.py", "WIRE_RATE = 100e9", "WIRE_RATE  =  100e9  # fast")
    assert said() == (0, [])


def test_tables_drawings_and_functions_that_are_not_used_do_not_count(said: Said, tree: Path) -> None:
    for name in ("study/capture_report", "study/capture_figures", "study/capture_page", "loads/capture"):
        with (tree / f"headrace/evaluate/{name}.py").open("a") as file:
            file.write("\n\ndef changed() -> int:\n    return 1\n")
    change(
        tree / "headrace/evaluate/study/capture_report.py", "def summary_table", "summary = 1\n\n\ndef summary_table"
    )
    assert said() == (0, [])


def test_an_assertion_counts_where_the_simulator_is_measured(said: Said, tree: Path) -> None:
    check = "\n`ifndef SYNTHESIS\n  always_ff @(posedge clk) assert (!rst || idle);\n`endif\nendmodule"
    change(tree / "rtl/card/filter_card.sv", "\nendmodule", check)
    change(tree / "rtl/stream/stream_contract.sv", "\nendmodule", check)
    change(tree / "rtl/stream/first_reset.sv", "seen_q && !rst", "seen_q")
    stream = "rtl/card/filter_card.sv, rtl/stream/first_reset.sv, rtl/stream/stream_contract.sv changed"
    assert said()[1] == [f"headrace bench {group}: {stream}" for group in ("sim", "cost")]


def test_figures_that_were_never_measured_or_without_a_record_of_files_are_listed(said: Said, tree: Path) -> None:
    entries = figures.read(tree)
    entries["study bridge"] = replace(entries["study bridge"], files={})
    del entries["bench sim"]
    figures.write(entries, tree)
    assert said() == (
        1,
        [
            "headrace study bridge: measured before its files were recorded",
            "headrace bench sim: never measured",
        ],
    )


def test_of_many_files_a_line_names_the_first(said: Said, tree: Path) -> None:
    for path in (tree / "rtl/bridge").glob("*[!g].sv"):  # not the packages
        change(path, "endmodule", "  wire changed = 1'b1;\nendmodule")
    assert re.fullmatch(r"headrace study bridge: (rtl/bridge/\w+\.sv(, )?){3} and \d+ more changed", said()[1][0])


def test_an_installed_package_has_no_committed_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured.paths, "share", lambda: tmp_path)
    assert main(["study", "--stale"]) == 1


def test_a_file_of_figures_that_is_none_is_told_with_its_name(said: Said, tree: Path) -> None:
    (tree / figures.FILE).write_text('{"bench sim": {}}')
    with pytest.raises(HeadraceError, match=r"figures\.json"):
        figures.read(tree)
    assert said() == (1, [])


@pytest.mark.parametrize(
    ("suffix", "one", "other", "same"),
    [
        (".sv", "assign a=b; // c", "assign a = b;", True),
        (".sv", 'x = "// no comment";', 'x = "// another";', False),
        (".sv", "logic a;", "logica;", False),
        (".h", "a /* b */ c", "a c", True),
        (".rdl", 'desc = "old; words"; sw = rw;', 'desc = "new";  sw=rw;', True),
        (".rdl", 'desc = "old"; sw = rw;', 'desc = "old"; sw = r;', False),
        (".py", "f(1,\n  2,\n)\n", "f(1, 2)", True),
        (".py", "if a:\n    b()\nc()", "if a:\n    b()\n    c()", False),
        (".py", "x = 1  # one", "x = 1\n\n\n# two\n", True),
        (".py", "x = '# no comment'", "x = '# another'", False),
        (".py", 'def f():\n    """Head."""\n    return 1', "def f():\n    return 1", True),
        (".py", 'x = """a"""', 'x = """b"""', False),
    ],
)
def test_tokens_are_what_a_tool_sees(suffix: str, one: str, other: str, same: bool) -> None:
    assert (tokens(suffix, one) == tokens(suffix, other)) == same


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a;\n`ifndef SYNTHESIS\nb;\n`endif\nc;\n", "a;\nc;\n"),
        ("`ifndef SYNTHESIS\nb;\n`else\nc;\n`endif\n", "c;\n"),
        ("`ifdef SYNTHESIS\nb;\n`else\nc;\n`endif\n", "b;\n"),
        ("`ifndef SYNTHESIS\n`ifdef X\nb;\n`endif\nc;\n`endif\nd;\n", "d;\n"),
        ("`ifdef X\nb;\n`else\nc;\n`endif\n", "`ifdef X\nb;\n`else\nc;\n`endif\n"),
    ],
)
def test_what_synthesis_leaves_out(text: str, left: str) -> None:
    assert synthesised(text) == left


def test_slots_are_filled_by_name() -> None:
    text = "a <!--=sim.rate-->1<!--/--> b <!--=bridge.rate-->2<!--/-->"
    assert fill(text, {"sim.rate": "3"}) == "a <!--=sim.rate-->3<!--/--> b <!--=bridge.rate-->2<!--/-->"
    with pytest.raises(HeadraceError, match=r"sim\.rate"):
        fill(text, {"sim.other": "3"})


def test_stale_figures_say_so_where_they_stand_until_they_are_measured_again() -> None:
    values = {"sim.rate": "3", "sim.table": "| a |\n|---|\n| 1 |"}
    text = fill("<!--=sim.rate--><!--/-->, `sim`. <!--=sim.stale--><!--/-->\n<!--=sim.table--><!--/-->", values)
    noted = fill(text, values, {"sim"})
    assert noted.count(NOTE) == 2 and text.count(NOTE) == 0
    assert f"<!--=sim.rate-->3<!--/-->, `sim`. <!--=sim.stale-->{NOTE}<!--/-->" in noted
    assert f"| 1 |\n\n{NOTE}\n\n<!--/-->" in noted
    assert fill(noted, values, {"sim"}) == noted and fill(noted, values) == text
    assert slots(noted) == slots(text) == values


def row(what: str, value: float | int, unit: str = "", ok: bool | None = True) -> Row:
    return Row("sim", what, "-", value, unit, ok, MEASURED)


FURTHER = (
    *(f"switch card: {what}; by a profile" for what in ("60 bytes, a lookup a cycle", "5 % of the line")),
    *("NIC card: testpmd forwards; by a profile", "filter card: all accepted and written; by a profile"),
    *("bridge card", "round trip of a ping through the switch", "iperf3 TCP through the switch", "iperf3 UDP"),
)


def test_a_command_writes_its_table_and_its_figures(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured.paths, "share", lambda: tree)
    measurement = MEASUREMENTS["bench sim"]
    change(tree / "sim/error.h", "#pragma once", "#pragma once\n#define CHANGED")
    assert figures.fill_pages(MEASUREMENTS.values(), Sources(tree)) == ["docs/performance.md", "README.md"]
    assert (tree / "README.md").read_text().count(NOTE) == 1
    frames = "switch card: 1,514-byte frames both ways; by a profile"
    rows = [row(frames, 123_456), row("RPU card", 65.4321, "packets", ok=False), *(row(what, 1) for what in FURTHER)]
    publish(measurement, measurement.here(), page.values("sim", rows), 61.04)
    assert slots((tree / "README.md").read_text())["sim.frames"] == "123,456"
    table = slots((tree / "docs/performance.md").read_text())["sim.table"]
    assert "| RPU card |  | **65.43 packets: missed** | measured |" in table
    assert NOTE not in (tree / "README.md").read_text() + (tree / "docs/performance.md").read_text()
    entry = figures.read(tree)["bench sim"]
    assert (entry.date, entry.processor_s) == (date.today().isoformat(), 61.0) and entry.values["sim.table"] == table
    assert stale([measurement], Sources(tree)) == []


def test_what_could_not_be_measured_stays_as_it_was(tree: Path) -> None:
    before = figures.read(tree)["bench sim"].values["sim.small"]
    figures.record(MEASUREMENTS["bench sim"], {"sim.frames": "7", "sim.small": None}, Sources(tree))
    assert figures.read(tree)["bench sim"].values == {"sim.frames": "7", "sim.small": before}


def test_sources_that_change_meanwhile_are_not_what_was_measured(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured.paths, "share", lambda: tree)
    measurement = MEASUREMENTS["bench sim"]
    mark = measurement.here()
    change(tree / "sim/error.h", "#pragma once", "#pragma once\n#define CHANGED")
    with pytest.raises(HeadraceError, match="changed while"):
        publish(measurement, mark, {}, None)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_the_file_says(name: str) -> None:
    """What is stale is said there when pages are filled, and may have changed since."""
    shown = slots((REPOSITORY / name).read_text())
    said = {
        slot: value
        for command, entry in figures.read(REPOSITORY).items()
        if name in MEASUREMENTS[command].pages
        for slot, value in entry.values.items()
    }
    assert {slot: value for slot, value in shown.items() if not slot.startswith("statements.")} == {
        slot: said.get(slot) for slot in shown if not slot.startswith("statements.")
    }, "headrace figures --fill writes it"


def test_every_command_has_its_entry_and_a_place_for_what_is_stale() -> None:
    entries = figures.read(REPOSITORY)
    assert set(entries) == set(MEASUREMENTS)
    for name, each in MEASUREMENTS.items():
        assert entries[name].fit == each.fit
        for path in each.pages:
            text = (REPOSITORY / path).read_text()
            tables = [
                slot for slot, value in slots(text).items() if slot.startswith(f"{each.group}.") and "\n" in value
            ]
            assert tables or f"<!--={each.group}.stale-->" in text


@pytest.mark.parametrize("name", PAGES)
def test_every_slot_of_the_pages_has_a_command_that_fills_it(name: str) -> None:
    """Names are looked for as words of the modules that make values: these need whole studies."""
    known = set(page._NAMES) | set(page._NOTED) | {f"statements.{study}" for study in statements.STUDIES}
    known |= {f"{group}.table" for group in (*GROUPS, COST)}
    known |= {"size.engine", "stream.size", "size-fit.engine", "switch.size", "host.size"}
    for module, prefix in (
        (bridge_page, "bridge"),
        (capture_page, "capture"),
        (filter_page, "filter"),
        (rpu_page, "rpu"),
        (switch_page, "switch"),
        (host_page, "host"),
        (emulator_page, "emulator"),
    ):
        assert module.__file__ is not None
        known |= {f"{prefix}.{word}" for word in re.findall(r'"(\w+)": ', Path(module.__file__).read_text())}
        known |= {f"{prefix}.{word}" for word in re.findall(r'found\["(\w+)"\] =', Path(module.__file__).read_text())}
    there = slots((REPOSITORY / name).read_text())
    assert there and set(there) <= known


def test_the_readme_shows_the_core_whose_line_rate_it_shows() -> None:
    """Bench filter takes the card's defaults, and so does that row; its figures are the table's."""
    defaults = load_card(REPOSITORY / "rtl/card/filter.toml").resolve()
    readme = (REPOSITORY / "README.md").read_text()
    named = f"| UltraScale+, {defaults['PACKET_KB']} KB of packets, frames of up to {defaults['MAX_FRAME']:,} bytes |"
    [row] = [line for line in readme.splitlines() if line.startswith(named)]
    table = slots((REPOSITORY / "docs/performance.md").read_text())["size.table"]
    [measured_row] = [line for line in table.splitlines() if line.startswith("| memories of the default's")]
    shown = slots(row)
    assert f"| {shown['size.default_rams']} BRAM36 |" in measured_row
    assert f"; {shown['size.default_luts']} LUTs;" in measured_row


@pytest.mark.parametrize("words", [["study", "capture"], ["study", "bridge"], ["bench", "sim"], ["bench", "cost"]])
def test_another_form_than_the_docs_show_is_not_published(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--full", "--update-docs"]) == 2
    assert "--full" in capsys.readouterr().err


def test_files_that_figures_depend_on_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match="none.py"):
        Sources(tmp_path).digests(Measurement("bench x", (), (), (), ("none.py",), ()))
    with pytest.raises(HeadraceError, match=r"headrace\.none"):
        Sources(tmp_path).digests(Measurement("bench x", (), (), ("headrace.none.run",), (), ()))
