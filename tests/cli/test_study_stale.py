"""``headrace study --stale``: committed figures say what they were measured on; it lists the outdated."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace import paths
from headrace.build.description import load_card
from headrace.cli import main
from headrace.errors import HeadraceError
from headrace.evaluate import committed, measured, statements
from headrace.evaluate.bench import MEASURED, Row, page
from headrace.evaluate.bench.groups import COST, GROUPS
from headrace.evaluate.committed import MEASUREMENTS, publish
from headrace.evaluate.measured import Measurement, fill, slots, stale, tokens
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
    for measurement in MEASUREMENTS.values():
        mark = measurement.mark(root)
        for path in (root / file for file in measurement.files):
            text = path.read_text() if path.exists() else ""
            path.write_text(re.sub(rf"measured by headrace {measurement.command} on .*?(?= -->|<)", "", text) + mark)
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


def test_a_changed_engine_makes_its_figures_stale_and_no_others(said: Said, tree: Path) -> None:
    change(tree / "rtl/bridge/h2s_lane.sv", "endmodule", "  wire changed = 1'b1;\nendmodule")
    code, lines = said()
    assert code == 1
    assert {line.split(": ")[0] for line in lines} == {
        *MEASUREMENTS["study bridge"].files,
        "docs/performance.md",
        "README.md",
    }
    assert all(re.fullmatch(r"\S+: headrace (study|bench) bridge: rtl/bridge changed", line) for line in lines)


def test_what_all_cards_use_makes_all_figures_of_cards_stale(said: Said, tree: Path) -> None:
    change(tree / "rtl/pkg/headrace_pkg.sv", "endpackage", "  localparam int unsigned CHANGED = 1;\nendpackage")
    code, lines = said()
    of_cards = {f"headrace {name}" for name in MEASUREMENTS} - {
        "headrace bench size",
        "headrace bench stream",
        "headrace bench host-fit",
    }  # those are of single blocks
    assert code == 1 and {line.split(": ")[1] for line in lines} == of_cards


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("rtl/card/capture.toml", "default = 16\n", "default = 32\n"),
        ("regs/capture.rdl", "addrmap", "addrmap changed {}; addrmap"),
        ("sim/memory/axi_memory.h", "#pragma once", "#pragma once\n#define CHANGED"),
        ("headrace/evaluate/loads/capture.py", "WIRE_RATE = 100e9", "WIRE_RATE = 99e9"),
    ],
)
def test_parameters_registers_harness_and_loads_count(said: Said, tree: Path, file: str, old: str, new: str) -> None:
    change(tree / file, old, new)
    code, lines = said()
    assert code == 1 and any(line.startswith("docs/study-capture.md: headrace study capture: ") for line in lines)


def test_the_firmware_of_a_card_counts(tree: Path) -> None:
    (tree / "rtl/card/boot.c").write_text("int lamp = 1;\n")
    with (tree / "rtl/card/capture.toml").open("a") as file:
        file.write('\n[firmware]\nsources = ["boot.c"]\n')
    before = MEASUREMENTS["study capture"].digests(tree)
    (tree / "rtl/card/boot.c").write_text("int lamp = 2;\n")
    after = MEASUREMENTS["study capture"].digests(tree)
    assert {name for name in after if after[name] != before.get(name)} == {"firmware"}


def test_points_and_the_models_of_hosts_count(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(committed.PROFILES, "pcie", committed.PROFILES["none"])
    assert {line.split(": ", 1)[1] for line in said()[1]} == {
        "headrace study bridge: settings changed",
        "headrace bench bridge: settings changed",
    }


def test_comments_docstrings_and_formatting_do_not_count(said: Said, tree: Path) -> None:
    change(tree / "rtl/bridge/h2s_lane.sv", "endmodule", "  // capture_card\nendmodule /* the end */")
    change(tree / "rtl/capture/ring_writer.sv", ";\n", "  ;\n\n\n")
    change(tree / "sim/wire/clock.h", "#pragma once", "// once\n#pragma once /* only */")
    change(tree / "headrace/evaluate/loads/capture.py", '"""', '"""Another head. ')
    change(tree / "headrace/evaluate/loads/capture.py", "WIRE_RATE = 100e9", "WIRE_RATE  =  100e9  # fast")
    assert said() == (0, [])


def test_a_figure_that_has_lost_its_mark_is_listed(said: Said, tree: Path) -> None:
    (tree / "docs/images/study-bridge-adaptive.svg").write_text("<svg/>")
    (tree / "docs/study-capture.md").unlink()
    assert said() == (
        1,
        [
            "docs/study-capture.md: headrace study capture: No such file or directory",
            "docs/images/study-bridge-adaptive.svg: headrace study bridge: does not say what it was measured on",
        ],
    )


def test_an_installed_package_has_no_committed_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured.paths, "share", lambda: tmp_path)
    assert main(["study", "--stale"]) == 1


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


def test_slots_are_filled_by_name() -> None:
    text = "a <!--=sim.rate-->1<!--/--> b <!--=bridge.rate-->2<!--/-->"
    assert fill(text, {"sim.rate": "3"}) == "a <!--=sim.rate-->3<!--/--> b <!--=bridge.rate-->2<!--/-->"
    assert fill(text, {"sim.rate": None}) == text
    with pytest.raises(HeadraceError, match="sim.rate"):
        fill(text, {"sim.other": "3"})


def row(what: str, value: float | int, unit: str = "", ok: bool | None = True) -> Row:
    return Row("sim", what, "-", value, unit, ok, MEASURED)


def test_a_command_writes_its_table_its_figures_and_its_mark(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PAGES[:2]:
        shutil.copy(REPOSITORY / name, tree / name)
    monkeypatch.setattr(measured.paths, "share", lambda: tree)
    measurement = MEASUREMENTS["bench sim"]
    rows = [row("x, none accepted", 123_456), row("x, all accepted and written", 65.4321, "packets", ok=False)]
    publish(measurement, measurement.here(), page.values("sim", rows))
    assert slots((tree / "README.md").read_text())["sim.none"] == "123,456"
    table = slots((tree / "docs/performance.md").read_text())["sim.table"]
    assert "| x, all accepted and written |  | **65.43 packets: missed** | measured |" in table
    assert stale([measurement], tree) == []


def test_sources_that_change_meanwhile_are_not_what_was_measured(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured.paths, "share", lambda: tree)
    measurement = MEASUREMENTS["bench sim"]
    mark = measurement.here()
    change(tree / "sim/error.h", "#pragma once", "#pragma once\n#define CHANGED")
    with pytest.raises(HeadraceError, match="changed while"):
        publish(measurement, mark, {})


@pytest.mark.parametrize("name", PAGES)
def test_every_slot_of_the_pages_has_a_command_that_fills_it(name: str) -> None:
    """Names are looked for as words of the modules that make values: these need whole studies."""
    known = set(page._NAMES) | set(page._NOTED) | {f"statements.{study}" for study in statements.STUDIES}
    known |= {f"{group}.table" for group in (*GROUPS, COST)}
    known |= {"size.engine", "stream.size", "stream.fmax", "bridge.blocks", "rpu.size", "switch.size", "host.size"}
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
    named = "| filter core, UltraScale+, as in the rows above"
    [row] = [line for line in readme.splitlines() if line.startswith(named)]
    assert f"{defaults['PACKET_KB']} KB, frames of up to {defaults['MAX_FRAME']:,} bytes" in row
    table = slots((REPOSITORY / "docs/performance.md").read_text())["size.table"]
    [measured_row] = [line for line in table.splitlines() if line.startswith("| memories of the default's")]
    shown = slots(row)
    assert f"| {shown['size.default_rams']} BRAM36 |" in measured_row
    assert f"; {shown['size.default_luts']} LUTs;" in measured_row


@pytest.mark.parametrize("words", [["study", "capture"], ["study", "bridge"], ["bench", "sim"], ["bench", "cost"]])
def test_half_a_measurement_is_not_published(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--quick", "--update-docs"]) == 2
    assert "--quick" in capsys.readouterr().err


def test_files_that_figures_depend_on_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match="none.py"):
        Measurement("bench x", (), (), ("none.py",), ()).digests(tmp_path)
