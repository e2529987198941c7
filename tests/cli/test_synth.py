"""Synthesis reports: what is counted is what a person with the data sheet would count, and levels add up."""

import dataclasses
import json
import re

import elaboration
import pytest
from rich.console import Console
from soak import soak

from headrace import paths, synth
from headrace.build.description import load_card
from headrace.errors import HeadraceError
from headrace.synth import cells, flow, rtlil, yosys
from headrace.synth.report import SynthReport, Usage
from headrace.synth.sources import find_design, module_design, parameter_names

COUNTED = """
module mux16 (input logic [15:0][31:0] d, input logic [3:0] s, output logic [31:0] y);
  assign y = d[s];
endmodule

module counted (
    input logic clk, input logic [15:0][31:0] d, input logic [3:0] s, output logic [31:0] y, input logic wr_en,
    input logic [8:0] wr_addr, input logic [31:0] wr_data, input logic rd_en, input logic [8:0] rd_addr,
    output logic [31:0] rd_data, output logic [23:0] few);
  mux16 u_mux (.*);
  ram_sdp #(.WIDTH(32), .DEPTH(512)) u_block (.*);
  ram_dist #(.WIDTH(24), .DEPTH(64)) u_distributed (.clk, .wr_en, .wr_addr(6'(wr_addr)), .wr_data(24'(wr_data)),
      .rd_addr(6'(rd_addr)), .rd_data(few));
endmodule
"""

LOST = """
module lost (input logic clk, input logic clear, input logic [1:0] a, input logic [3:0] d, output logic [3:0] q);
  logic [3:0] mem[4];
  always_ff @(posedge clk) begin
    mem[a] <= d;
    q <= mem[a];
    if (clear) for (int i = 0; i < 4; i++) mem[i] <= '0;
  end
endmodule
"""

PAIR = """
module leaf #(parameter int unsigned WIDTH = 8) (
    input logic clk, input logic [WIDTH-1:0] d, output logic [WIDTH-1:0] q);
  always_ff @(posedge clk) q <= q + d;
endmodule

module pair #(parameter int unsigned WIDTH = 8, localparam int unsigned DOUBLE = 2 * WIDTH) (
    input logic clk, input logic [WIDTH-1:0] d, output logic [3:0][WIDTH-1:0] q, output logic [15:0] r);
  if (WIDTH > 32) $fatal(1, "pair: WIDTH must be at most 32");
  for (genvar i = 0; i < 4; i++) begin : gen_leaf
    leaf #(.WIDTH(WIDTH)) u_leaf (.clk, .d, .q(q[i]));
  end
  leaf #(.WIDTH(16)) u_wide (.clk, .d(16'(d)), .q(r));
endmodule
"""


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADRACE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def make_card(folder, top, source):
    """A user's card folder around one module."""
    folder.mkdir(exist_ok=True)
    (folder / "card.toml").write_text(
        f'top = "{top}"\nsources = ["{top}.sv"]\nports = 1\nclock_hz = 100000000\n[parameters.WIDTH]\ndefault = 8\n'
        if "parameter" in source
        else f'top = "{top}"\nsources = ["{top}.sv"]\nports = 1\nclock_hz = 100000000\n'
    )
    (folder / f"{top}.sv").write_text(source)
    return folder


# Counting, against the data sheets


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """The parts that are counted, in one card: synthesised once for a target and kept apart."""
    folder = make_card(tmp_path_factory.mktemp("counted"), "counted", COUNTED)
    card = folder / "card.toml"
    card.write_text(f'uses = ["pkg", "memory"]\n{card.read_text()}')
    return folder


def part(report, name):
    """The usage of one instance, and what its memory became."""
    memory = {kind for path, kind in report.memories.items() if f".{name}." in path}
    return next(level.total for level in report.hierarchy if level.path == name), memory


@pytest.mark.parametrize(
    "target, flags, luts",
    [
        ("xcup", [], 7 * 32),  # 15 two-way multiplexers a bit; a LUT6 holds three, an F7 or F8 beside the LUTs one
        ("cyclonev", [], 7 * 32),
        ("ecp5", [], 21 * 32),  # LUT5s to LUT7s are built of two to eight LUT4s
        ("ecp5", ["-nowidelut"], 13 * 32),
    ],
)
def test_a_multiplexer_of_sixteen_words_takes_what_its_inputs_demand(counted, target, flags, luts):
    report = synth.run(counted, target, pnr=target != "ecp5", boundaries=1, flags=flags)
    used, _ = part(report, "u_mux")
    assert (used.luts, used.ffs, used.rams, used.dsps) == (luts, 0, 0, 0)
    assert report.placement is None


@pytest.mark.parametrize(
    "target, rams",
    [
        ("xcup", 0.5),  # 16 Kibit in one RAMB18
        ("ecp5", 1),  # a DP16KD is 512 x 36 in pseudo dual-port mode
        ("cyclonev", 2),  # an M10K is at most 20 bits wide at 512 words
    ],
)
def test_a_block_ram_of_512_words_of_32_bits(counted, target, rams):
    used, kind = part(synth.run(counted, target, pnr=False, boundaries=1), "u_block")
    assert (used.rams, kind) == (rams, {"block"})
    assert used.luts <= 1, "only the inverter of an enable may be left"
    assert used.ffs == 0


@pytest.mark.parametrize(
    "target, luts, lutram",
    [
        ("xcup", 32, 32),  # a RAM64M8 is 64 x 7 in 8 LUTs
        ("ecp5", 244, 24 * 6),  # four blocks of 16 words, six of 4 bits
        ("cyclonev", 74, 48),  # two blocks of 32 words, 24 bits
    ],
)
def test_a_distributed_ram_of_64_words_of_24_bits(counted, target, luts, lutram):
    used, kind = part(synth.run(counted, target, pnr=False, boundaries=1), "u_distributed")
    assert (used.luts, used.lutram, kind) == (luts, lutram, {"distributed"})
    assert (used.rams, used.ffs) == (0, 0)


def test_every_kind_of_cell_is_weighed():
    xcup = cells.usage(
        {"LUT6": 10, "INV": 2, "RAM32M16": 1, "SRL16E": 3, "CARRY4": 5, "RAMB18E2": 3, "FDRE": 4}, "xcup"
    )
    assert (xcup.luts, xcup.lutram, xcup.rams, xcup.ffs) == (10 + 2 + 8 + 3, 8 + 3, 1.5, 4)
    ecp5 = cells.usage({"LUT4": 10, "CCU2C": 2, "TRELLIS_DPR16X4": 1, "PFUMX": 4, "MULT18X18D": 3}, "ecp5")
    assert (ecp5.luts, ecp5.lutram, ecp5.dsps) == (10 + 4 + 6, 6, 3)
    cyclonev = cells.usage({"MISTRAL_ALUT6": 3, "MISTRAL_ALUT4": 4, "MISTRAL_MUL18X18": 2}, "cyclonev")
    assert (cyclonev.luts, cyclonev.alms, cyclonev.dsps) == (7, 5, 1)


def test_an_unknown_cell_is_named(tmp_path, capsys):
    """A black box is one."""
    assert cells.uncounted({"LUT6": 1, "URAM288": 2}, "xcup") == {"URAM288": 2}
    box = "(* blackbox *) module box (input logic d, output logic q); endmodule\n"
    boxes = "module boxes (input logic [1:0] d, output logic [1:0] q); box u_box[1:0] (.d, .q); endmodule\n"
    report = synth.run(make_card(tmp_path / "boxes", "boxes", box + boxes), "ecp5", pnr=False, hierarchy=False)
    assert report.total == Usage()
    synth.print_report(report, Console(width=120))
    assert "\nNot counted: 2 x box.\n" in capsys.readouterr().out


@pytest.mark.parametrize("target", ["ecp5", "cyclonev"])
def test_memories_that_become_registers_are_told(tmp_path, capsys, target):
    report = synth.run(make_card(tmp_path / "lost", "lost", LOST), target, pnr=False, hierarchy=False)
    assert report.memories == {"mem": "registers"}
    synth.print_report(report, Console(width=120))
    assert "\nMemories that became registers: mem\n" in capsys.readouterr().out


# Levels


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return synth.run(make_card(tmp_path_factory.mktemp("pair"), "pair", PAIR), "ecp5", {"WIDTH": 12}, pnr=False)


@pytest.mark.parametrize("target", [soak("xcup"), "ecp5"])
def test_boundaries_can_be_kept_where_a_design_is_too_large_to_be_flattened(tmp_path, target):
    card = make_card(tmp_path / "pair", "pair", PAIR)
    report = synth.run(card, target, {"WIDTH": 12}, boundaries=1, pnr=False)
    assert [level.path for level in report.hierarchy] == ["", *(f"gen_leaf[{i}].u_leaf" for i in range(4)), "u_wide"]
    assert report.total == report.hierarchy[0].total
    assert report.total.ffs == 4 * 12 + 16
    assert SynthReport.from_json(report.to_json()) == report


@pytest.mark.parametrize("router", [soak("router1"), "router2"])  # a module by itself is placed with router1 below
def test_parts_are_placed_together(tmp_path, router):
    card = make_card(tmp_path / "pair", "pair", PAIR)
    report = synth.run(card, "ecp5", {"WIDTH": 12}, boundaries=1, seeds=1, router=router)
    assert report.placement.ffs == 4 * 12 + 16
    assert report.placement.fmax_mhz > 0


def test_an_unknown_router_is_refused():
    with pytest.raises(HeadraceError, match="unknown router router3; there are: router1, router2"):
        synth.run("stream_reg", "ecp5", router="router3")


def test_levels_add_up_to_the_whole(pair):
    total = pair.hierarchy[0].own
    for level in pair.hierarchy[1:]:
        total += level.own
    assert total == pair.hierarchy[0].total
    assert pair.hierarchy[0].total.ffs == pair.total.ffs == 4 * 12 + 16


def test_each_instance_has_its_path_and_module(pair):
    assert [(level.path, level.module) for level in pair.hierarchy] == [
        ("", "pair"),
        *((f"gen_leaf[{i}].u_leaf", "leaf") for i in range(4)),
        ("u_wide", "leaf"),
    ]
    assert [level.total.ffs for level in pair.hierarchy] == [64, 12, 12, 12, 12, 16]


def test_equal_modules_are_synthesised_once_and_others_kept_apart():
    body = "  wire $a${n}\n  cell $dff $driver${n}\n  end\n"
    different = body.replace("$dff", "$adff")
    text = "".join(
        f"module {name}\n{part}end\n\n"
        for name, part in [
            (r"\top", "  cell \\x1 \\u_1\n  end\n  cell \\x2 \\u_2\n  end\n  cell \\x3 \\u_3\n  end\n"),
            (r"\x1", body.replace("{n}", "1")),
            (r"\x2", body.replace("{n}", "27")),
            (r"\x3", different.replace("{n}", "1")),
        ]
    )
    merged = rtlil.cells_of(rtlil.merge_equal_modules(text))
    assert merged.keys() == {"top", "x1", "x3"}
    assert merged["top"] == [("x1", "u_1"), ("x1", "u_2"), ("x3", "u_3")]


def test_a_run_has_equal_modules_once(tmp_path):
    design, values = find_design(make_card(tmp_path / "pair", "pair", PAIR), {"WIDTH": 12})
    yosys.write_read_options(tmp_path / "sources.f", "pair", design.files, values)
    assert len(rtlil.cells_of(flow._merged(tmp_path))) == 3, "and leaves of two widths"


def test_the_table_shows_like_instances_once(pair, capsys):
    synth.print_report(pair, Console(width=120))
    output = capsys.readouterr().out
    assert re.search(r"gen_leaf\[\*\]\.u_leaf x4 +│ leaf +│ +\d+ │ +0 │ +12 │", output)
    assert "u_wide" in output and "flattened" in output
    synth.print_report(pair, Console(width=120), depth=0)
    assert "u_wide" not in capsys.readouterr().out


def test_a_report_survives_json(pair):
    assert SynthReport.from_json(json.loads(json.dumps(pair.to_json()))) == pair


# Place and route


def test_fmax_is_the_median_of_the_seeds():
    report = synth.run("stream_reg", "ecp5", seeds=3)
    placement = report.placement
    found = sorted(seed.fmax_mhz for seed in placement.seeds)
    assert [seed.seed for seed in placement.seeds] == [1, 2, 3]
    assert placement.fmax_mhz == found[1] and placement.spread_mhz == (found[0], found[2])
    assert 50 < found[0] < 1000
    assert placement.ffs == report.total.ffs
    assert report.to_json()["placement"]["fmax_mhz"] == found[1]
    assert SynthReport.from_json(json.loads(json.dumps(report.to_json()))) == report


def test_a_design_that_does_not_fit_says_so():
    report = synth.run("ram_sdp", "ecp5", {"WIDTH": 1024, "DEPTH": 4096}, seeds=1, hierarchy=False)
    assert report.total.rams > 208
    assert report.placement.fmax_mhz is None and report.placement.error


# Names, parameters, errors, cache


def test_a_module_brings_the_files_that_it_needs_and_no_others():
    needed = {path.stem for path in module_design("stream_fifo", paths.share()).files}
    assert {"stream_fifo", "fifo_store", "ram_sdp", "ram_dist"} <= needed
    assert "stream_arbiter" not in needed


def test_a_module_with_registers_brings_their_description():
    design = module_design("filter_regs", paths.share())
    assert [path.name for path in design.registers] == ["filter.rdl"]


def test_a_card_has_its_defaults_and_the_given_parameters():
    design, values = find_design("filter", {"CORES": "2"})
    assert design.top == "filter_card" and values["CORES"] == "2" and values["DATA_W"] == "512"
    assert {"filter_card", "filter_engine", "stream_fifo"} <= {path.stem for path in design.files}
    assert [path.name for path in design.registers] == ["filter.rdl"]


def test_a_board_has_no_clock_gates_unless_it_is_asked_for_them():
    assert load_card("switch").resolve()["GATED"] == 1
    assert find_design("switch", {})[1]["GATED"] == "0"
    assert find_design("switch", {"GATED": "1"})[1]["GATED"] == "1"


def test_parameters_are_read_from_the_head_without_local_ones(tmp_path):
    design, _ = find_design(make_card(tmp_path / "pair", "pair", PAIR), {})
    assert parameter_names(design) == ["WIDTH"]


@pytest.mark.parametrize(
    "what, target, parameters, message",
    [
        ("stream_fifa", "ecp5", {}, "no card, card folder or module is called stream_fifa; did you mean stream_fifo?"),
        ("stream_fifo", "virtex", {}, "unknown target virtex; there are: ecp5, xcup, cyclonev"),
        ("ram_dist", "ecp5", {"WIDHT": 3}, "ram_dist has no parameter WIDHT; there are: WIDTH, DEPTH"),
        ("filter", "ecp5", {"CORES": 65}, "CORES = 65: must be 1 to 64"),
    ],
)
def test_a_wrong_request_is_one_clear_line(what, target, parameters, message):
    with pytest.raises(HeadraceError, match=re.escape(message)) as caught:
        synth.run(what, target, parameters, pnr=False)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "wrong, message",
    [
        ("q <= q + dd;", r"pair\.sv:4: use of undeclared identifier 'dd'"),
        ("q <= q + d", r"pair\.sv:4: expected ';'"),
    ],
)
def test_an_error_in_the_rtl_is_given_with_its_place(tmp_path, wrong, message):
    folder = make_card(tmp_path / "pair", "pair", PAIR.replace("q <= q + d;", wrong))
    with pytest.raises(HeadraceError, match=message):
        synth.run(folder, "ecp5", pnr=False)


def test_a_check_at_elaboration_is_given_with_its_place(tmp_path):
    folder = make_card(tmp_path / "pair", "pair", PAIR)
    with pytest.raises(HeadraceError, match=r"pair\.sv:9: .*WIDTH must be at most 32"):
        synth.run(folder, "ecp5", {"WIDTH": 33}, pnr=False)


def test_names_with_spaces_are_no_trouble(tmp_path):
    report = synth.run(make_card(tmp_path / "my pair", "pair", PAIR), "ecp5", pnr=False, hierarchy=False)
    assert report.total.ffs == 4 * 8 + 16


def test_a_second_run_comes_from_the_cache_until_a_source_changes(tmp_path, monkeypatch):
    folder = make_card(tmp_path / "mine", "pair", PAIR)
    first = synth.run(folder, "ecp5", pnr=False, hierarchy=False)
    runs = []
    original = yosys.run_script
    monkeypatch.setattr(flow.yosys, "run_script", lambda *a: runs.append(a) or original(*a))
    assert synth.run(folder, "ecp5", pnr=False, hierarchy=False) == first
    assert not runs
    (folder / "pair.sv").write_text(PAIR.replace("q + d", "q ^ d"))
    assert synth.run(folder, "ecp5", pnr=False, hierarchy=False).total.luts < first.total.luts
    assert runs


def test_settings_and_tools_are_part_of_what_a_result_is_cached_by(monkeypatch):
    design, values = find_design("stream_reg", {"WIDTH": 8})
    job = flow._Job(design, "ecp5", values, [], 0, "6", True, 0, "router1")
    changes = [
        *({"target": "xcup"}, {"parameters": {"WIDTH": "9"}}, {"flags": ["-nowidelut"]}, {"seeds": 1}),
        *({"speed_grade": "7"}, {"hierarchy": False}, {"boundaries": 1}, {"router": "router2"}, {}),
    ]
    keys = {flow._key(dataclasses.replace(job, **change)) for change in changes}
    assert len(keys) == len(changes)
    monkeypatch.setattr(flow.importlib.metadata, "version", lambda package: f"another {package}")
    assert flow._key(job) not in keys


def test_a_changed_header_is_a_changed_source(tmp_path):
    folder = make_card(tmp_path / "mine", "pair", PAIR.replace("q + d", "q `STEP d"))
    (folder / "pair.sv").write_text('`include "step.svh"\n' + (folder / "pair.sv").read_text())
    luts = []
    for step in "+^":
        (folder / "step.svh").write_text(f"`define STEP {step}\n")
        luts.append(synth.run(folder, "ecp5", pnr=False, hierarchy=False).total.luts)
    assert luts[1] < luts[0]


def test_registers_that_are_included_from_elsewhere_are_a_source(tmp_path, monkeypatch):
    folder = make_card(tmp_path / "mine", "pair", PAIR)
    (folder / "card.toml").write_text(f'registers = "pair.rdl"\n{(folder / "card.toml").read_text()}')
    (folder / "pair.rdl").write_text('`include "../part.rdl"\naddrmap pair_regs { part first; };\n')
    keys = []
    monkeypatch.setattr(flow, "_load", lambda path: keys.append(path) or "report")
    for reset in (1, 2, 1):
        (tmp_path / "part.rdl").write_text(f"regfile part {{ reg {{ field {{}} value[8] = {reset}; }} one; }};\n")
        synth.run(folder, "ecp5", pnr=False, hierarchy=False)
    assert keys[0] == keys[2] != keys[1]


# The platform's own RTL


# Cards, in which nearly all modules are: a small size has all that a large one has.
WHOLES = {
    "bridge_card": {},
    "capture_card": {"CORES": 2},
    "filter_card": {"CORES": 2},
    "host_pcie": {"FUNCTIONS": 2, "DATA_W": 128},
    "link_card": {"DATA_W": 128},
    "nic_card": {"PORTS": 1, "FUNCTIONS": 2, "DATA_W": 128, "STATIONS": 64},
    "rpu_card": {"UNITS": 2, "DATA_W": 128, "SLOTS": 4, "ACCELERATORS_LOW": 0x02},
    "switch_card": {
        **{"PORTS": 2, "DATA_W": 128, "TABLES": 2, "EXACT": 16, "TERNARY": 4, "PROGRAM_WORDS": 64, "METERS": 2},
    },
}
# A large size by itself has nothing that a small one has not, and takes a minute.
SMALL = {
    "rpu_engine": {"UNITS": 2},
    "switch_engine": {**WHOLES["switch_card"], "EFFECTS": 2, "GROUPS": 2, "COUNTERS": 2},
    **WHOLES,
}
MODULES = sorted(path.stem for path in paths.rtl().rglob("*.sv") if path.stem[-4:] != "_pkg")


def check_synthesis(module, folder):
    """Yosys takes the module, which has no latch, no loop, nothing with two drivers and nothing with none."""
    design = module_design(module, paths.share())
    generated = [f for rdl in design.registers for f in flow.generate_rtl(rdl, folder / "regs") if f.suffix == ".sv"]
    values = {name: str(value) for name, value in SMALL.get(module, {}).items()}
    yosys.write_read_options(folder / "sources.f", module, [*generated, *design.files], values)
    commands = [
        "read_slang -f sources.f",
        "hierarchy -check",
        "proc -latches error",
        "opt_clean",
        "check -assert",
        "memory_collect",
        "select -assert-none t:$dlatch t:$adlatch t:$dlatchsr",
    ]
    yosys.run_script(commands, folder, "check")


@pytest.mark.parametrize("card", WHOLES)
def test_every_card_is_synthesisable_and_has_no_latch(card, tmp_path):
    check_synthesis(card, tmp_path)


def test_every_module_that_is_in_no_card_is_synthesisable_and_has_no_latch(tmp_path):
    within = {module for card, parameters in WHOLES.items() for module in elaboration.modules(card, **parameters)}
    for module in MODULES:
        if module not in within:
            check_synthesis(module, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("module", [module for module in MODULES if module not in WHOLES])
def test_every_module_by_itself_is_synthesisable_and_has_no_latch(module, tmp_path):
    check_synthesis(module, tmp_path)
