"""Cheaper signals for cocotb's benches: the same values, read and written in fewer steps.

A bench reads and writes some dozens of signals a cycle, and cocotb's way from `dut.signal.value` to the simulator takes
most of its time. Verilator knows 0 and 1 only, and what benches write are numbers: these go straight. An input of the
top module, which nobody else drives, is written when its value changes. All else, every error with it, takes cocotb's
own way. `install` is for the process of a simulation, before its bench begins.
"""

import os
import re
from pathlib import Path
from typing import Any

from cocotb import _gpi_triggers, handle
from cocotb.types import Logic, LogicArray, Range

DEPOSIT = handle._GPISetAction.DEPOSIT.value
READ_ONLY = _gpi_triggers.ReadOnly()
BITS = {"0": Logic("0"), "1": Logic("1")}
TEXTS = {0: "0", 1: "1"}  # False and True are equal to them
NUMBERS = (int, bool)
NOTHING = object()


def install() -> None:
    """Make the handles of this process cheap."""
    assert handle._trust_inertial  # with Verilator writes need no queue: the simulator has one
    header = Path(os.environ["BENCH_HEADER"])  # Verilator's: it names the ports
    inputs = re.findall(r"^ *VL_IN\w*\(\(?&?(\w+)", header.read_text(), re.MULTILINE)
    quiet = {name for name in inputs if "clk" not in name}  # the simulator drives clocks by itself
    _cache_children(handle.HierarchyObject)
    _bit(handle.LogicObject, quiet)
    for kind in (handle.LogicArrayObject, handle.PackedObject):
        _vector(kind, quiet)
    _number(LogicArray)


def _cache_children(kind: Any) -> None:
    """A child that was looked up is an attribute from then on."""
    look_up = kind.__getattr__

    def look_up_once(self: Any, name: str) -> Any:
        child = self.__dict__[name] = look_up(self, name)
        return child

    kind.__getattr__ = look_up_once


def _bit(kind: Any, quiet: set[str]) -> None:
    slow = kind.value

    def read(self: Any) -> Logic:
        text = self._handle.get_signal_val_binstr()
        return BITS[text] if text in BITS else Logic(text)

    def write(self: Any, value: Any) -> None:
        state = self.__dict__
        if value.__class__ in NUMBERS and value in TEXTS and _may_write(self):
            if state.get("written", NOTHING) != value:
                self._handle.set_signal_val_binstr(DEPOSIT, TEXTS[value])
                _note(self, value, quiet)
        else:
            state["written"] = NOTHING
            slow.__set__(self, value)

    kind.value = property(read, write)


def _vector(kind: Any, quiet: set[str]) -> None:
    slow = kind.value
    ranges: dict[int, Range] = {}

    def read(self: Any) -> LogicArray:
        text = self._handle.get_signal_val_binstr()
        width = len(text)
        if width not in ranges:
            ranges[width] = Range(width - 1, "downto", 0)
        array = LogicArray.__new__(LogicArray)
        array._value_as_array = array._value_as_int = None
        array._value_as_str = text
        array._range = ranges[width]
        array._warn_indexing = False
        return array

    def write(self: Any, value: Any) -> None:
        state = self.__dict__
        width = state.get("width") or state.setdefault("width", len(self))
        if value.__class__ in NUMBERS and value >= 0 and not value >> width and _may_write(self):
            if state.get("written", NOTHING) != value:
                if width <= 32:
                    self._handle.set_signal_val_int(DEPOSIT, value)
                else:
                    self._handle.set_signal_val_binstr(DEPOSIT, f"{value:0{width}b}")
                _note(self, value, quiet)
        else:
            state["written"] = NOTHING
            slow.__set__(self, value)

    kind.value = property(read, write)


def _number(kind: Any) -> None:
    slow = kind.__int__

    def number(self: Any) -> int:
        text = self._value_as_str
        try:
            return int(text, 2)
        except (TypeError, ValueError):  # it isn't text, or has other digits
            return int(slow(self))

    kind.__int__ = number


def _may_write(signal: Any) -> bool:
    return _gpi_triggers._current_gpi_trigger is not READ_ONLY and not signal.is_const


def _note(signal: Any, value: int, quiet: set[str]) -> None:
    """Remember what an input has, for which writing it again has no effect; only of inputs this is known."""
    state = signal.__dict__
    if "quiet" not in state:
        state["quiet"] = signal._path.count(".") == 1 and signal._name in quiet
    if state["quiet"]:
        state["written"] = value
