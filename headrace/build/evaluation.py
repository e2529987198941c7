"""Shortens how a Verilated model is evaluated, where more is known of it than Verilator knows:

- its inputs change while ``clk`` is low: what depends on them alone needn't be evaluated again with the rising edge
- its clocks are ``clk`` and that behind a ``clock_gate``, which opens and closes while ``clk`` falls: an edge of one
  leads to none of another, so they are looked for once, and only gates look at what happens while it falls
- assertions are never switched off.

C++ that looks otherwise, as that of a model with other clocks, stays as Verilator wrote it.
"""

from __future__ import annotations

import re
from pathlib import Path

_ASSERTIONS = re.compile(r"vlSymsp->_vm_contextp__->assertOnGet\(\d+, \d+\)")
_EDGE = re.compile(r"region trigger index \d+ is active: @\((.*)\)\\n")
_CLOCK = re.compile(r"(?:pos|neg)edge clk|posedge \(clk & \(\d+'h0 != [\w.\[\]]+\.gen_gate\.work_q\)\)")
_NAMED_CLOCK = re.compile(r"posedge ([\w.\[\]]+)")
_GATE = re.compile(
    r"^ *(vlSelfRef\.\w+|vlSymsp->TOP__\w+\.\w+)\s*= \(\(IData\)\(vlSelfRef\.clk\)\s*&"
    r" \(0U != \(IData\)\(vlSelfRef\.\w+gen_gate__DOT__work_q\)\)\);\n",
    re.MULTILINE,
)
_OF_INPUTS = re.compile(r"^(?:VL_\w+ )*void \w+___ico_\w+?__TOP__(\w+)\([^\n]*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIRST_TIME = re.compile(
    r"^    __VicoIterCount = 0U;\n.*?^    \} while \(vlSelfRef\.__VicoPhaseResult\);\n", re.M | re.S
)
_BLOCK = re.compile(r"^    if \(\((\w+)ULL & vlSelfRef\.__VnbaTriggered\[0U\]\)\) \{\n.*?^    \}\n", re.M | re.S)
_EDGES = re.compile(r"(?<=    // Body\n)(?:" + _BLOCK.pattern + r")+(?=^\}\n)", re.M | re.S)
_FALLS = re.compile(r"region trigger index (\d+) is active: @\(negedge clk\)\\n")
_AGAIN = "} while (vlSelfRef.__VnbaPhaseResult);"


def shorten(folder: Path) -> bool:
    """Rewrites Verilator's C++ in a folder; False: its clocks or its form are others, and only assertions are."""
    files = {path: path.read_text() for path in sorted(folder.glob("*.cpp"))}
    of_inputs = "".join(_of_model(*found) for text in files.values() for found in _OF_INPUTS.findall(text))
    gates = list(_GATE.finditer(of_inputs))
    gated = {_of_signal(gate[1]) for gate in gates}
    edges = {edge for text in files.values() for edge in _EDGE.findall(text)}
    main = [path for path, text in files.items() if _FIRST_TIME.search(text) and _AGAIN in text]
    known = (
        len(main) == 1
        and all(_CLOCK.fullmatch(edge) or _name(edge) in gated for edge in edges)
        and len(re.findall(r"vlSelfRef\.clk\b", of_inputs)) == len(gates)
        and all(len(re.findall(rf"{re.escape(gate[1])}\b", of_inputs)) == 1 for gate in gates)
    )
    if known:
        text = files[main[0]]
        always = "".join(gate[0] for gate in gates)
        text = _FIRST_TIME.sub(lambda of: f"    if (vlSelfRef.clk) {{\n{always}    }} else {{\n{of[0]}    }}\n", text)
        files[main[0]] = text.replace(_AGAIN, "} while (false);")
        falls = {1 << int(number) for text in files.values() for number in _FALLS.findall(text)}
        for path, text in files.items():
            files[path] = _EDGES.sub(lambda blocks: _parted(blocks[0], sum(falls)), text)
    for path, text in files.items():
        path.write_text(_ASSERTIONS.sub("true", text))
    return known


def _parted(blocks: str, falls: int) -> str:
    """What happens at clocks' edges, each of which has a bit; ``falls``: while clk falls."""
    low = "".join(block[0] for block in _BLOCK.finditer(blocks) if int(block[1], 0) & falls)
    return f"    if (!vlSelfRef.clk) {{\n{low}        return;\n    }}\n{blocks}"


def _of_model(function: str, body: str) -> str:
    """What an instance's function does, as one of the whole model has it; ``function``: what is behind the kind in its
    name."""
    instance, _, _ = function.rpartition("__")
    if not instance:
        return body
    return body.replace("vlSelfRef.", f"vlSymsp->TOP__{instance}.").replace("vlSymsp->TOP.", "vlSelfRef.")


def _of_signal(member: str) -> str:
    """Name of the signal that a member of the model, or of one of its instances, is."""
    owner, _, name = member.rpartition(".")
    path = owner.partition("TOP__")[2], name.removeprefix("__PVT__")
    return "__".join(filter(None, path)).replace("__DOT__", "__")


def _name(edge: str) -> str:
    """Of the signal, if it is one, whose edge that is."""
    found = _NAMED_CLOCK.fullmatch(edge)
    return found[1].replace(".", "__").replace("[", "__BRA__").replace("]", "__KET__") if found else ""
