"""The rows of ``headrace bench switch-fit`` and ``host-fit``: their commands repeat what was synthesised, and what must
be is judged."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from headrace import synth
from headrace.cli import main
from headrace.errors import HeadraceError
from headrace.evaluate.bench import designs, fit
from headrace.evaluate.bench.designs import Design
from headrace.evaluate.points import quiet
from headrace.registers.compile import generate_rtl
from headrace.synth import yosys
from headrace.synth.placement import why_not_routed
from headrace.synth.report import Placement, Seed, SynthReport, Usage
from headrace.synth.sources import find_design

DESIGNS = {
    "switch-fit": designs.SWITCH,
    "host-fit": designs.HOST,
    "rpu-fit": designs.RPU,
    "bridge-fit": designs.BRIDGE,
    "stream-fit": designs.STREAM,
    "size-fit": designs.SIZE,
}
Call = tuple[str, str, dict[str, str], dict[str, Any]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """What was to be synthesised; a design is placed with 90 MHz by the first seed, a MHz less by each later one."""
    made: list[Call] = []

    def run(what: str, target: str, parameters: dict[str, object], *, seeds: int = 3, **options: Any) -> SynthReport:
        named = {name: str(value) for name, value in parameters.items()}
        placed = options["pnr"] and target == "ecp5"
        how = {
            "placed": seeds if placed else 0,
            **{name: options[name] for name in ("boundaries", "router", "speed_grade")},
        }
        made.append((what, target, named, how))
        if "progress" in options:  # of the command line: its report is another test's
            raise HeadraceError("enough")
        placement = Placement("LFE5U-85F", "6", [Seed(seed, 90.0 - seed) for seed in range(seeds)])
        found = placement if placed else None
        return SynthReport(what, target, named, Usage(luts=1_000), {}, [], {}, found, tools={}, flags=[], seconds=0)

    monkeypatch.setattr(synth, "run", run)
    return made


@pytest.mark.parametrize("group", DESIGNS)
def test_a_rows_command_repeats_it(group: str, calls: list[Call]) -> None:
    fit.GROUPS[group](quiet)
    wanted = {str(call) for call in calls}
    calls.clear()
    for design in DESIGNS[group]:
        for grade in design.grades:
            assert main(shlex.split(design.command(grade))[1:]) == 1
    assert {str(call) for call in calls} == wanted
    assert len(calls) == len(wanted)


def test_the_median_of_three_seeds_is_compared_with_what_must_be(calls: list[Call]) -> None:
    rows = [*fit.switch(quiet), *fit.host(quiet)]
    fmax = [row for row in rows if "Fmax" in row.what]
    assert [(row.group, row.must, row.value, row.ok, row.note.split(";")[0]) for row in fmax] == [
        ("switch-fit", "at least 80", 90.0, True, "one seed"),
        *[("host-fit", "at least 100", 90.0, False, "one seed")] * 2,
        *[("host-fit", "at least 100", 89.0, False, "median of 3 seeds (88 to 90)")] * 2,
    ]
    assert [grade for grade in ("6", "8") for row in fmax if f"speed grade {grade}" in row.what] == ["6", "6", "8", "8"]
    chosen = [*designs.SWITCH, *designs.HOST]
    assert len(rows) - len(fmax) == len(chosen)
    assert len(calls) == sum(len(design.grades) for design in chosen)


def test_what_is_placed_without_a_demand_has_its_fmax_and_the_cores_work_is_beside_ffsharks(calls: list[Call]) -> None:
    rows = {row.what: row for row in (*fit.bridge(quiet), *fit.size(quiet))}
    block = rows["`noc` DATA_W=64, ECP5: Fmax, placed and routed"]
    assert (block.must, block.value, block.ok) == ("-", 89.0, None)
    assert rows["`noc` DATA_W=64, UltraScale+"].value == 1_000
    core = rows["filter core of 32 KB, ECP5: Fmax, placed and routed"]
    assert (core.value, core.ok) == (88.0, False) and "FFShark 8,277 LUT4, 46.1 MHz" in core.note
    work = rows["work per LUT beside FFShark's"]
    assert work.value == pytest.approx(88e6 / 11 / 1_000 / (46.1e6 / 20 / 8_277)) and work.ok


@pytest.mark.parametrize(
    "design",
    [*designs.SWITCH, *designs.HOST],
    ids=lambda each: f"{each.what}, {each.target}",
)
def test_a_design_is_one_that_there_can_be(design: Design, tmp_path: Path) -> None:
    found, parameters = find_design(design.module, design.parameters)
    generated = [path for rdl in found.registers for path in generate_rtl(rdl, tmp_path) if path.suffix == ".sv"]
    yosys.write_read_options(tmp_path / "sources.f", found.top, [*generated, *found.files], parameters)
    yosys.run_script(["read_slang --keep-hierarchy -f sources.f"], tmp_path, "read")


PLACED = "Info: Max frequency for clock 'clk': 51.92 MHz (PASS at 12.00 MHz)\nInfo: Running main router loop...\n"
PIPELINE = [100_593, 72_801, 62_635, 57_535, 56_447, 56_798]
STUCK = (
    "56,798 of 1,212,914 wires wanted by several nets after 6 rounds, 62,635 3 rounds before; "
    "51.9 MHz by nextpnr's estimate once placed"
)


@pytest.mark.parametrize(
    ("overused", "reason"),
    [
        ([], None),
        ([56_000, 56_000, 56_000], None),
        (PIPELINE[:-1], None),
        (PIPELINE, STUCK),  # the switch's pipeline
        ([4_000, 500, 400, 50, 50, 49, 49, 49, 12], None),
    ],
)
def test_a_router_that_gets_no_further_is_not_waited_for(overused: list[int], reason: str | None) -> None:
    rounds = "".join(
        f"Info:     iter={number} wires=1212914 overused={count} overuse={2 * count} archfail=NA\n"
        for number, count in enumerate(overused, 1)
    )
    assert why_not_routed(PLACED + rounds) == reason
