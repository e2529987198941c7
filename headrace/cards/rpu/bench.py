"""A test bench for firmware: one unit of the RPU card runs a program; a test gives it packets and sees what it does.

    >>> with FirmwareBench("mine.c") as bench:
    ...     bench.send([packet])
    ...     bench.run()
    ...     assert bench.received(1) == [packet]
    ...     assert bench.read_word("count") == 1

It is the card's RTL that runs. The first bench compiles the model, others open it in less than a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from headrace.card import HangError
from headrace.cards.rpu import elf, profile, program
from headrace.cards.rpu.card import driver_of, open_rpu_card
from headrace.cards.rpu.driver import UnitCounters
from headrace.cards.rpu.health import Physician, UnitHealth
from headrace.errors import HeadraceError

_UNIT = 0
_PORTS = range(2)
_WARM_UP = 2_000  # cycles


class FirmwareBench:
    """One unit with a program. To be used in a ``with`` statement."""

    def __init__(
        self,
        *sources: str | Path,
        defines: Sequence[str] = (),
        optimisation: str = "2",
        accelerator: str = "none",
        table: Iterable[tuple[int, int]] = (),
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        """``sources``: C files, the name of a program that comes with Headrace, or one ELF file; ``table``: what the
        accelerator loads, of ``headrace.cards.rpu.tables``; ``parameters``: the card's.

        Raises HeadraceError when the program doesn't compile, isn't one, or names no slots.
        """
        ready_made = len(sources) == 1 and Path(sources[0]).suffix not in (".c", ".S", ".s", "")
        path = sources[0] if ready_made else program.build(sources, defines=defines, optimisation=optimisation)
        self.program = elf.read(path)
        self.card = open_rpu_card(1, {_UNIT: accelerator}, parameters=dict(parameters or {}), progress=False)
        try:
            self.driver = driver_of(self.card)
            self.driver.load(self.program)
            self.driver.boot(enable=False)
            self.driver.load_table(table, [_UNIT])
            self.driver.enable([_UNIT])
            self._physician = Physician(self.driver, lambda: self.card.stats().time_ns)
            if not self.driver.ready():
                raise HeadraceError(f"{path}: {self.health().fault or 'names no slots'}")
            self.driver.set_flow_control(True)
            for port in _PORTS:
                self.card.flow_control(port, True)
                self.card.source(port, [])
                self.card.sink(port, "memory")
        except BaseException:
            self.card.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.card.close()

    # ------------------------------------------------------------------------------------------------ packets

    def send(self, packets: Iterable[bytes], port: int = 0) -> None:
        """Gives packets to a port; they come in the next ``run``, as fast as the program takes them."""
        self.card.send(port, packets)

    def run(self, cycles: int | None = None) -> None:
        """Runs until all packets are sent or dropped and the program waits for more, or for so many cycles. Raises
        HeadraceError, which says what the program does instead, when that doesn't come."""
        if cycles is not None:
            self.card.run(until=None, cycles=cycles)
            return
        try:
            self.card.run()
        except HangError as error:
            fault = self._physician.look(_UNIT, self.program.path.name, self.program, hung=True).fault
            raise HeadraceError(fault or str(error)) from None

    def received(self, port: int) -> list[bytes]:
        """Takes the packets that have come out of a port since the last call."""
        return [frame.data for frame in self.card.received(port)]

    # ------------------------------------------------------------------------------------------------ the unit

    @property
    def debug_out(self) -> int:
        """The 64 bits of DEBUG_OUT_H and DEBUG_OUT_L."""
        return self.driver.state(_UNIT).debug_out

    @property
    def flags(self) -> tuple[str, ...]:
        """Interrupts and errors by name, as the program sees them."""
        return self.health().flags

    @property
    def counters(self) -> UnitCounters:
        """Packets, bytes, stalls, errors."""
        return self.driver.counters(_UNIT)

    def health(self) -> UnitHealth:
        """What the unit is at; its ``fault``: what is wrong, with cause and source line, or None."""
        return self._physician.look(_UNIT, self.program.path.name, self.program)

    def read_symbol(self, name: str, size: int | None = None) -> bytes:
        """The bytes of a variable, or so many from its start on. Raises HeadraceError when there is none."""
        address = self.program.address(name)
        return self.driver.read(_UNIT, address, self.program.symbols[name].size if size is None else size)

    def read_word(self, name: str) -> int:
        """A variable of 32 bits, without sign."""
        return int.from_bytes(self.read_symbol(name, 4), "little")

    def write_symbol(self, name: str, data: bytes | int) -> None:
        """Sets a variable, or its beginning; a number is one of 32 bits. Its address must be a multiple of 4, and other
        variables in its last word are what they were."""
        if isinstance(data, int):
            data = (data & 0xFFFF_FFFF).to_bytes(4, "little")
        end = self.program.address(name) + len(data)
        self.driver.write([_UNIT], self.program.address(name), data + self.driver.read(_UNIT, end, -end % 4))

    # ------------------------------------------------------------------------------------------------ cycles

    def cycles_per_packet(self, packet: bytes, count: int = 200, port: int = 0) -> float:
        """Cycles that the unit takes a packet when packets wait all the time, and no fewer than the line at 100 Gb/s.
        What comes out is thrown away."""
        self.send([packet] * (_WARM_UP + 8 * count), port)
        self.run(_WARM_UP)
        first = last = self._pace()
        while last[0] - first[0] < count:
            self.run(16 * count)
            before, last = last, self._pace()
            if last[0] == before[0]:
                raise HeadraceError(
                    self.health().fault or f"fewer than {count} packets, or {16 * count} cycles for one"
                )
        taken = (last[1] - first[1]) / (last[0] - first[0])
        self.run()
        for number in _PORTS:
            self.card.received(number)
        return taken

    def _pace(self) -> tuple[int, int]:
        return self.counters.rx_packets, self.card.stats().cycles

    def profile(self, samples: int | None = None, go_on: Callable[[int], bool] = lambda _: True) -> profile.Profile:
        """As ``run``, with samples of where the core is: until all packets are through, or at most so many, or until
        ``go_on``, which gets their number, wants no more."""
        return profile.sample(self.card, self.driver, _UNIT, self.program, samples, go_on)
