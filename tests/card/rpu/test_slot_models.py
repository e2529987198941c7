"""Models for slots: one that sleeps while it says that it is settled is the same as one that never does."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterator

import pytest

from headrace.cards.rpu import accelerators, tables

LAST, REG_WRITE, STREAM_VALID, JOB_READY, LOAD_VALID, REG_VALID, RESET = (1 << bit for bit in range(7))
PRESENT, IDLE = 1 << 6, 1
Words = ctypes.POINTER(ctypes.c_uint32)


class Inputs(ctypes.Structure):
    """SlotInputs of sim/model/slot_table.h."""

    _fields_ = (
        ("tdata", Words),
        ("tkeep", Words),
        ("reg_addr", ctypes.c_uint32),
        ("reg_wdata", ctypes.c_uint32),
        ("load_addr", ctypes.c_uint32),
        ("load_data", ctypes.c_uint32),
        ("reg_wstrb", ctypes.c_uint8),
        ("flags", ctypes.c_uint8),
    )


class Outputs(ctypes.Structure):
    """SlotOutputs."""

    _fields_ = (("job", ctypes.c_uint64), ("reg_rdata", ctypes.c_uint32), ("flags", ctypes.c_uint8))


Step = ctypes.CFUNCTYPE(
    ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(Inputs), ctypes.POINTER(Outputs), ctypes.POINTER(ctypes.c_bool)
)


class Table(ctypes.Structure):
    """SlotTable."""

    _fields_ = (
        ("version", ctypes.c_uint32),
        ("data_bits", ctypes.c_uint32),
        ("create", ctypes.CFUNCTYPE(ctypes.c_void_p)),
        ("destroy", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("step", Step),
    )


class Slot:
    """One instance; `sleeps`: it isn't stepped while it says that nothing would change."""

    def __init__(self, table: Table, sleeps: bool) -> None:
        self.table, self.sleeps = table, sleeps
        self.slot = table.create()
        self.outputs = Outputs()
        self.asleep: int | None = None
        self.slept = 0

    def step(self, inputs: Inputs) -> tuple[int, ...]:
        controls = inputs.flags & ~(LAST | REG_WRITE)
        if self.sleeps and controls == self.asleep:
            self.slept += 1
        else:
            settled = ctypes.c_bool()
            stopped = self.table.step(
                self.slot, ctypes.byref(inputs), ctypes.byref(self.outputs), ctypes.byref(settled)
            )
            assert stopped is None, stopped
            self.asleep = controls if settled else None
        out = self.outputs
        return out.flags, out.reg_rdata, out.job if out.flags & 8 else 0


def stimulus(name: str, cycles: int) -> Iterator[Inputs]:
    """Reset, tables, then accesses with long silences between them. It doesn't look at what comes out: an access is
    one of a cycle."""
    rng = random.Random(3)
    loads = tables.blacklist_words(["10.0.0.0/8"])[:100] if name == "blacklist" else []
    data, keep = (ctypes.c_uint32 * 16)(), (ctypes.c_uint32 * 2)(*[0xFFFF_FFFF] * 2)
    quiet = 0
    for cycle in range(cycles):
        inputs = Inputs(data, keep, 0, 0, 0, 0, 0, 0)
        quiet = max(0, quiet - 1) if quiet or rng.random() < 0.8 else rng.choice((20, 100, 300, 1000))
        inputs.flags = RESET if cycle < 20 or cycle % 5000 < 3 else JOB_READY if cycle % 1024 < 900 else 0
        if cycle >= 20 and not quiet:
            inputs.reg_addr = rng.choice((0, 4, 8, 12, 20, 0xFFC))
            inputs.reg_wdata, inputs.reg_wstrb = rng.getrandbits(32), 15
            write = inputs.reg_addr != 0xFFC and (inputs.reg_addr == 20 or rng.random() < 0.5)
            inputs.flags |= REG_VALID | write * REG_WRITE
        if cycle >= 20 and loads:
            inputs.load_addr, inputs.load_data = loads.pop()
            inputs.flags |= LOAD_VALID
        yield inputs


@pytest.mark.parametrize("name", ["crc", "blacklist"])
def test_a_slot_that_sleeps_does_what_one_does_that_never_does(name: str) -> None:
    library = accelerators.library(name, 512, False)
    assert library is not None
    get_slot: Callable[[], ctypes._Pointer[Table]] = ctypes.CDLL(str(library)).hr_get_slot
    get_slot.restype = ctypes.POINTER(Table)  # type: ignore[attr-defined]
    table = get_slot().contents
    assert table.data_bits == 512
    awake, asleep = Slot(table, False), Slot(table, True)
    seen = set()
    for inputs in stimulus(name, 20_000):
        out = awake.step(inputs)
        assert asleep.step(inputs) == out
        seen.add(out)
    assert awake.slept == 0
    assert asleep.slept > 5_000, "most of the time nothing happens"
    assert len(seen) > 20
    for slot in (awake, asleep):
        table.destroy(slot.slot)
