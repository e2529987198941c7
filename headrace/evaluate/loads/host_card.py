"""A switch card with virtual functions for measurements: the harness plays drivers, host memory takes its time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from headrace.card import Card
from headrace.card.functions import Functions, Plugs
from headrace.cards.switch.agent import OpenFlowSwitch
from headrace.cards.switch.card import CardHardware, open_switch_card
from headrace.cards.switch.flows import IN_PORT, Action, ActionKind, Flow, Instructions, Oxm
from headrace.cards.switch.hardware import HardwareDatapath
from headrace.cards.switch.ports import PortInfo

FUNCTIONS = 16
CLOCK_HZ = 250_000_000
LATENCY_NS = 1_000  # of a read of host memory: 250 cycles
READS = 256  # that the memory takes at once; more than the card has under way
GAP = 20  # bytes of preamble and gap on a line
FCS = 4

_IN_PORT = 0  # number of the field
_PRIORITY = 100


def parameters() -> dict[str, Any]:
    """Of the card: one Ethernet port, and a table that holds a flow for each function."""
    return {
        "PORTS": 1, "FUNCTIONS": FUNCTIONS, "DATA_W": 512, "TABLES": 1, "EXACT": 64, "TERNARY": 16, "NARROW": 1,
        "PROGRAM_WORDS": 1024, "METERS": 16,
    }  # fmt: skip


def build() -> None:
    """Builds the card, if need be."""
    open_switch_card(parameters=parameters(), progress=False).close()


class HostCard:
    """The card. ``told``: what its functions' drivers and queues have to complain of."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self.told: list[str] = []
        self.functions = Functions(card, card.regs.functions)
        self.plugs = Plugs(self.functions, self.told.append)
        hardware = CardHardware(card)
        self._ethernet = hardware.ports - self.functions.count
        self._datapath = HardwareDatapath(hardware)
        infos = [PortInfo(n, f"port{n}", bytes((2, 0, 0, 0, 0, n)), 100_000_000) for n in range(1, hardware.ports + 1)]
        self.agent = OpenFlowSwitch(self._datapath, 1, infos)
        hardware.hold((1 << hardware.ports) - 1)

    def forward(self, source: int | None, sinks: Sequence[int]) -> None:
        """Has what a function sends (None: what the Ethernet port receives) go to functions."""
        outputs = [IN_PORT if source == sink else self._port(sink) for sink in sinks]
        actions = tuple(Action(ActionKind.OUTPUT, output) for output in outputs)
        match = (Oxm(_IN_PORT, 1 if source is None else self._port(source)),)
        self._datapath.add(Flow(0, _PRIORITY, match, Instructions(apply=actions)))

    def _port(self, function: int) -> int:
        return self._ethernet + 1 + function

    def link(self, function: int, sink: str = "null") -> int:
        """Has the harness drive a function, whose received frames go to ``sink``; gives its port of the card."""
        self.plugs.plug(function, "queue:")
        port = self.plugs.port(function)
        assert port is not None
        self.card.sink(port, sink)
        return port

    def sent(self, ports: Sequence[int]) -> list[int]:
        """Frames that each of these functions has handed over."""
        return [self.card.port_stats(port).rx_frames for port in ports]

    def received(self, ports: Sequence[int]) -> list[int]:
        """Frames that each of these functions has got."""
        return [self.card.port_stats(port).tx_frames for port in ports]


@contextmanager
def running(to: Mapping[int, int], latency_ns: int = LATENCY_NS, **memory: int) -> Iterator[HostCard]:
    """Such a card at 250 MHz; ``to`` says for a function whom it sends to. ``memory``: of ``HostMemory.configure``."""
    with open_switch_card(parameters=parameters(), clock_hz=CLOCK_HZ, progress=False) as card:
        card.memory.configure(read_latency_ns=latency_ns, reads=READS, writes=READS, **memory)
        host = HostCard(card)
        for source, sink in to.items():
            host.forward(source, [sink])
        yield host


def pairs(functions: int) -> dict[int, int]:
    """Functions that send to each other, two and two; one alone to itself."""
    return {0: 0} if functions == 1 else {function: function ^ 1 for function in range(functions)}
