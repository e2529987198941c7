"""The NIC card that tests share, and a model of it beside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nic_model import Function, NicModel

from headrace.card import Card
from headrace.card.functions import Plugs
from headrace.cards.nic.card import Nic, NicFunctions, PathCounters, Setting

PORTS, FUNCTIONS, PAIRS = 2, 4, 2
PARAMETERS: dict[str, Any] = {"PORTS": PORTS, "FUNCTIONS": FUNCTIONS, "PAIRS": PAIRS, "DATA_W": 128, "STORE_KB": 16}


@dataclass
class NicBench:
    """A card whose frames come and go in memory, and a model of it."""

    card: Card
    nic: Nic
    functions: NicFunctions
    plugs: Plugs
    model: NicModel
    told: list[str] = field(default_factory=list)

    def enable(self, number: int, vlan: int = 0, uplink: int = 0, promiscuous: bool = False) -> int:
        """Enables and plugs a function; gives its port."""
        mac = 0x02_00_00_00_00_00 + number
        self.nic.enable(number, Setting(mac, vlan, uplink, promiscuous))
        self.model.functions[number] = Function(mac.to_bytes(6, "big"), vlan, uplink, promiscuous)
        self.plugs.plug(number, "queue:")
        port = self.plugs.port(number)
        assert port is not None
        self.card.source(port, "queue", timing=2e9)
        self.card.sink(port, "memory")
        return port

    def frames(self, port: int) -> list[bytes]:
        """What a port has received since the last call."""
        return [frame.data for frame in self.card.received(port)]

    def run(self) -> list[PathCounters]:
        """Lets all frames through; gives the counters of both directions, in which none is missing."""
        assert self.card.run().reason == "idle"
        paths = [self.nic.path_counters(path) for path in range(2)]
        for path in paths:
            assert path.received + path.extra == path.to_functions + path.to_ports + path.dropped
        ports = [self.nic.port_counters(port) for port in range(PORTS)]
        assert sum(port.received - port.bad - port.no_room for port in ports) == paths[0].received
        assert sum(port.sent for port in ports) == paths[1].to_ports
        assert paths[0].to_ports == 0
        return paths
