"""The ports that every card has, and the check that a translated card has them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from headrace.build.description import CardDescription, Value
from headrace.errors import HeadraceError

_RX_META_W, _TX_META_W = 34, 138  # of rx_meta_t and tx_meta_t in headrace_pkg
# A card has all of a group, or none.
_OPTIONAL = (
    {"wake_ns": ("output", 64)},
    {
        "console_tx_valid": ("output", 1),
        "console_tx_ready": ("input", 1),
        "console_tx_data": ("output", 8),
        "console_tx_core": ("output", 8),
        "console_rx_valid": ("input", 1),
        "console_rx_ready": ("output", 1),
        "console_rx_data": ("input", 8),
        "console_rx_core": ("input", 8),
    },
)
_DECLARATION = re.compile(r"VL_(IN|OUT)\w*\(&(\w+),(\d+),(\d+)")

Port = tuple[str, int]  # "input" or "output", bits


def meta_width(model_header: str, ports: int) -> int:
    """Bits of one port's tx_tuser in a translated card."""
    return _declared(model_header)["tx_tuser"][1] // ports


def check_ports(description: CardDescription, values: Mapping[str, Value], model_header: str) -> None:
    """Raises HeadraceError with the first port that a card lacks, has with another width or shouldn't have."""
    ports = description.port_count(values)
    expected = _expected(ports, description.data_width(values), description.memory_width(values), description.address_w)
    found = _declared(model_header)
    where = f"card {description.name}: module {description.top}"
    for group in _OPTIONAL:
        expected |= group if group.keys() & found.keys() else {}
    for name, (direction, width) in expected.items():
        if name not in found:
            raise HeadraceError(f"{where} has no port {name} ({direction}, {width} bits)")
        if name == "tx_tuser":  # a card may have bits of its own above tx_meta_t
            if found[name][1] >= width and found[name][1] % ports == 0:
                continue
            wanted = f"{_described((direction, width))} or more for each port"
            raise HeadraceError(f"{where}: port {name} is {_described(found[name])}, must be {wanted}")
        if found[name] != (direction, width):
            wanted = _described((direction, width))
            raise HeadraceError(f"{where}: port {name} is {_described(found[name])}, must be {wanted}")
    for name in found:
        if name not in expected:
            raise HeadraceError(f"{where} has a port that cards don't have: {name}")


def _described(port: Port) -> str:
    return f"{port[0]} of {port[1]} bits"


def _declared(model_header: str) -> dict[str, Port]:
    return {
        name: ("input" if kind == "IN" else "output", int(high) - int(low) + 1)
        for kind, name, high, low in _DECLARATION.findall(model_header)
    }


def _expected(ports: int, data_w: int, mem_w: int, address_w: int) -> dict[str, Port]:
    inputs: dict[str, int] = {"clk": 1, "rst": 1, "time_ns": 64}
    outputs: dict[str, int] = {}
    for prefix, side, back, meta_w in (("rx", inputs, outputs, _RX_META_W), ("tx", outputs, inputs, _TX_META_W)):
        side |= {f"{prefix}_tvalid": ports, f"{prefix}_tdata": ports * data_w, f"{prefix}_tkeep": ports * data_w // 8}
        side |= {f"{prefix}_tlast": ports, f"{prefix}_tuser": ports * meta_w}
        back[f"{prefix}_tready"] = ports
    for channel in ("aw", "ar"):
        inputs |= {f"s_axil_{channel}addr": address_w, f"s_axil_{channel}prot": 3, f"s_axil_{channel}valid": 1}
        outputs[f"s_axil_{channel}ready"] = 1
        widths = {"id": 8, "addr": 64, "len": 8, "size": 3, "burst": 2, "user": 16, "valid": 1}
        outputs |= {f"m_axi_{channel}{name}": width for name, width in widths.items()}
        inputs[f"m_axi_{channel}ready"] = 1
    inputs |= {"s_axil_wdata": 32, "s_axil_wstrb": 4, "s_axil_wvalid": 1, "s_axil_bready": 1, "s_axil_rready": 1}
    outputs |= {"s_axil_wready": 1, "s_axil_bresp": 2, "s_axil_bvalid": 1}
    outputs |= {"s_axil_rdata": 32, "s_axil_rresp": 2, "s_axil_rvalid": 1}
    outputs |= {"m_axi_wdata": mem_w, "m_axi_wstrb": mem_w // 8, "m_axi_wlast": 1, "m_axi_wvalid": 1}
    outputs |= {"m_axi_bready": 1, "m_axi_rready": 1}
    inputs |= {"m_axi_wready": 1, "m_axi_bid": 8, "m_axi_bresp": 2, "m_axi_bvalid": 1}
    inputs |= {"m_axi_rid": 8, "m_axi_rdata": mem_w, "m_axi_rresp": 2, "m_axi_rlast": 1, "m_axi_rvalid": 1}
    outputs |= {"irq_valid": 1, "irq_function": 16, "irq_vector": 16, "idle": 1}
    inputs["irq_ready"] = 1
    return {n: ("input", w) for n, w in inputs.items()} | {n: ("output", w) for n, w in outputs.items()}
