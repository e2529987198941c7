"""Gathers what a Verilated model asks of its memories after each clock edge: whether they have been written.

Verilator gives each port that writes a memory a flag, clears all flags before an edge, and looks at each after it. That
is much of the time of a ternary table, which has a memory for each five bits of its key and is written once in a while.
Here the flags of a module lie side by side, and 32 of them are looked at together.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_LEAST = 8  # flags that are worth it
_TOGETHER = 32
FLAGS = "__VdlySets"
_END = "#endif  // guard\n"
_ANY = f"""
static inline bool VlAnyWritten(const CData* flags) {{
    QData words[{_TOGETHER // 8}];
    std::memcpy(words, flags, sizeof words);
    return (words[0] | words[1] | words[2] | words[3]) != 0;
}}
"""
_STATE = "    // DESIGN SPECIFIC STATE\n"
_FLAG = re.compile(r"^ +CData/\*0:0\*/ (__VdlySet__\w+);\n", re.MULTILINE)
_FUNCTION = re.compile(r"^(?:VL_\w+ )*\w+ \w+\([^\n]*\{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
_USE = re.compile(r"(vlSelf(?:Ref\.|->)|(?<![\w.>]))(__VdlySet__\w+)")
_LOOK = re.compile(r"^    if \((vlSelfRef\.|)(__VdlySet__\w+)\) \{\n.*?^    \}\n", re.MULTILINE | re.DOTALL)


def gather(folder: Path, prefix: str) -> int:
    """Rewrites Verilator's C++ of a model with this prefix in a folder. Returns at how many places flags are looked at
    together."""
    gathered = 0
    for header in sorted(folder.glob(f"{prefix}_*.h")):
        files = {path: path.read_text() for path in sorted(folder.glob("*.cpp")) if _belongs(path, header)}
        text = header.read_text()
        flags = _numbered(_FLAG.findall(text), files.values(), "vlSelfRef.")
        if len(flags) >= _LEAST:
            without = _FLAG.sub("", text)
            header.write_text(without.replace(_STATE, f"{_STATE}{_array(flags)}", 1))
        else:
            flags = {}
        for path, body in files.items():
            new = _FUNCTION.sub(functools.partial(_rewritten, members=flags), body)
            gathered += new.count("VlAnyWritten")
            if new != body:
                path.write_text(new)
    if gathered:
        common = folder / f"{prefix}__pch.h"
        common.write_text(common.read_text().replace(_END, f"{_ANY}\n{_END}"))
    return gathered


def _belongs(source: Path, header: Path) -> bool:
    """Whether a file has functions of a header's module."""
    return re.fullmatch(rf"{re.escape(header.stem)}__(\d+__)?(\d+|Slow)\.cpp", source.name) is not None


def _numbered(names: Iterable[str], texts: Iterable[str], prefix: str) -> dict[str, int]:
    """Flags in the order in which they are looked at; those of many looks in a row are not together with others."""
    numbers: dict[str, int] = {}
    left = dict.fromkeys(names)
    following = 0
    for text in texts:
        for row in _rows(look for look in _LOOK.finditer(text) if look[1] == prefix):
            new = [look[2] for look in row if look[2] in left]
            if len(row) >= _LEAST:
                following = _rounded(following)
            for name in new:
                del left[name]
                numbers[name] = following
                following += 1
            if len(row) >= _LEAST:
                following = _rounded(following)
    return numbers | {name: following + n for n, name in enumerate(left)}


def _rows(looks: Iterable[re.Match[str]]) -> Iterator[list[re.Match[str]]]:
    """Looks that follow each other."""
    row: list[re.Match[str]] = []
    for look in looks:
        if row and row[-1].end() != look.start():
            yield row
            row = []
        row.append(look)
    if row:
        yield row


def _rounded(number: int) -> int:
    return -(-number // _TOGETHER) * _TOGETHER


def _array(flags: dict[str, int]) -> str:
    """Room for them."""
    return f"    CData {FLAGS}[{_rounded(max(flags.values()) + 1)}] = {{}};\n"


def _rewritten(found: re.Match[str], members: dict[str, int]) -> str:
    """A function, its looks at flags together. Members are the module's; it can have flags of its own."""
    function = found[0]
    own = _numbered(_FLAG.findall(function), [function], "")
    if len(own) < _LEAST:
        own = {}
    elif first := _FLAG.search(function):
        without = _FLAG.sub(lambda line: "" if line[1] in own else line[0], function)
        function = without[: first.start()] + _array(own) + without[first.start() :]

    def of(look: re.Match[str]) -> tuple[str, int | None]:
        number = (members if look[1] else own).get(look[2])
        return look[1], None if number is None else number // _TOGETHER

    made, at = [], 0
    for row in _rows(_LOOK.finditer(function)):
        for (before, together), looks in itertools.groupby(row, of):
            inside = list(looks)
            if together is None or len(inside) < _LEAST:
                continue
            made.append(function[at : inside[0].start()])
            made.append(f"    if (VlAnyWritten(&{before}{FLAGS}[{together * _TOGETHER}])) {{\n")
            made += [*(look[0] for look in inside), "    }\n"]
            at = inside[-1].end()
    made.append(function[at:])

    def renamed(use: re.Match[str]) -> str:
        number = (members if use[1] else own).get(use[2])
        return use[0] if number is None else f"{use[1]}{FLAGS}[{number}]"

    return _USE.sub(renamed, "".join(made))
