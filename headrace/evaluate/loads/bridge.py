"""Loads for the bridge card, and what becomes of them: batches both ways, at full load, at rates and over time.

Cycles are those of the RTL, the same on every machine; the host is a model (``headrace.cards.bridge.host``). Every
packet is compared with what was sent.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headrace.cards.bridge.formats import Header, Packet, packed_bytes
from headrace.cards.bridge.host import PROFILES, Host
from headrace.cards.bridge.receive import ReceiveSettings
from headrace.cards.bridge.tables import PORTS, SOFTWARE
from headrace.evaluate.loads.bridge_traffic import (
    SETUPS,
    Frames,
    Latency,
    Receiving,
    latency_of,
    open_card,
    start_driver,
)
from headrace.traffic.triangle import Triangle

MAX_PACKET = 1514
SINGLE = 0  # KB of a buffer: packets are handed over one by one, as in EmbedNet's old design


@dataclass(frozen=True)
class Throughput:
    """Payload that got across. ``faults``: packets that are wrong, out of order or unaccounted for."""

    size: int
    messages: int
    packets: int
    bits_per_s: float
    faults: int


@dataclass(frozen=True)
class Step:
    """What happened in a step of time; percentiles of the packets delivered in it, 0 without any."""

    time_s: float
    offered_bits_per_s: float
    delivered_bits_per_s: float
    p99_ns: float
    packets_per_message: float


@dataclass(frozen=True)
class Trace:
    """A load over time."""

    steps: tuple[Step, ...]
    offered: int
    delivered: int
    messages: int
    latency: Latency


@dataclass(frozen=True)
class BothWays:
    """Both directions at once at a full line: shares of the line's packets that got across."""

    size: int
    h2s_share: float
    s2h_share: float
    dropped: int
    faults: int


def run(kind: str, **arguments: Any) -> Any:
    """One of this module's loads by its name, for a list of points that has several kinds."""
    loads: dict[str, Callable[..., Any]] = {
        "build": build,
        "to_software": to_software,
        "to_hardware": to_hardware,
        "receive_latency": receive_latency,
        "send_latency": send_latency,
        "trace": trace,
        "critical": critical,
        "both_ways": both_ways,
    }
    return loads[kind](**arguments)


def build(host: str) -> None:
    """Builds a host's card, if need be."""
    open_card(host).close()


def batching(buffer_kb: int, timeout_ms: float = 0.0) -> dict[str, Any]:
    """Settings for batches of so many KB, or single packets."""
    return {
        "buffer_bytes": max(buffer_kb, 2) * 1024,
        "single": buffer_kb == SINGLE,
        "timeout_ns": round(timeout_ms * 1e6),
    }


def to_software(host: str, size: int, buffer_kb: int, messages: int) -> Throughput:
    """A full line into H2S until software has so many messages. What finds no room is dropped."""
    setup, profile = SETUPS[host], PROFILES[host]
    per_message = 1 if buffer_kb == SINGLE else buffer_kb * 1024 // packed_bytes(size)
    fill_ns = per_message * setup.wire_ns(size)
    message_ns = profile.h2s_message_ns + profile.handling_ns(per_message, per_message * packed_bytes(size))
    count = round((messages + 3) * max(fill_ns, message_ns + 2000) / setup.wire_ns(size)) + 8 * per_message
    with Receiving(host, size, np.arange(count) * setup.wire_ns(size), batching(buffer_kb)) as load:
        load.host.run(lambda: load.messages > messages)
        got, times = load.packets_by_message, load.message_times
        span = times[-1] - times[0]
        return Throughput(size, len(times), sum(got), sum(got[1:]) * size * 8e9 / span, load.faults)


def to_hardware(host: str, size: int, buffer_kb: int, messages: int) -> Throughput:
    """Software that always has the next buffer ready, out of S2H onto the line."""
    per_message = 1 if buffer_kb == SINGLE else (buffer_kb * 1024 - 4) // packed_bytes(size)
    frames = Frames(size, per_message * messages)
    with open_card(host) as card:
        driver = start_driver(card)
        card.sink(0, "memory", timestamps="card")
        driver.s2h.configure(**batching(buffer_kb))
        loop = Host(card, driver, PROFILES[host])
        driver.s2h.send(Packet(frames.data(n), Header(PORTS[0])) for n in range(frames.count))
        driver.s2h.flush()
        loop.run()
        card.run()
        sent = card.received(0)
        times = [frame.timestamp_ns for frame in sent]
        faults = frames.faults(frame.data for frame in sent) + frames.count - len(sent) + driver.counters().missing()
        steady = times[::per_message]
        steady = steady[len(steady) // 3 :]  # the MAC's own buffer is full by then
        span = steady[-1] - steady[0]
        return Throughput(size, messages, len(sent), (len(steady) - 1) * per_message * size * 8e9 / span, faults)


def receive_latency(
    host: str, size: int, buffer_kb: int, timeout_ms: float, bits_per_s: float, packets: int
) -> Latency:
    """Frames at a rate into H2S: from a frame's last bit on the line to software's having it."""
    gap_ns = size * 8e9 / bits_per_s
    with Receiving(host, size, np.arange(packets) * gap_ns, batching(buffer_kb, timeout_ms)) as load:
        load.finish()
        return load.latency()


def send_latency(host: str, size: int, buffer_kb: int, timeout_ms: float, bits_per_s: float, packets: int) -> Latency:
    """Packets at a rate from software: from the driver's getting a packet to its first bit on the line."""
    gap_ns = size * 8e9 / bits_per_s
    frames = Frames(size, packets)
    with open_card(host) as card:
        driver = start_driver(card)
        card.sink(0, "memory", timestamps="card")
        driver.s2h.configure(**batching(buffer_kb, timeout_ms))
        loop = Host(card, driver, PROFILES[host])
        start = driver.clock()
        given: list[int] = []

        def give() -> None:
            number = len(given)
            given.append(driver.clock())
            driver.s2h.send([Packet(frames.data(number), Header(PORTS[0]))])
            if number + 1 < packets:
                loop.at(start + round((number + 1) * gap_ns), give)

        loop.at(start, give)
        loop.run(lambda: len(given) == packets)
        driver.s2h.flush()
        loop.run()
        card.run()
        sent = card.received(0)
        faults = frames.faults(frame.data for frame in sent) + packets - len(sent)
        spent = [frame.timestamp_ns - given[frames.number(frame.data)] for frame in sent]
        return latency_of(spent, faults)


def trace(
    host: str,
    size: int,
    lower_pps: float,
    upper_pps: float,
    intervals_s: tuple[float, float],
    seconds: float,
    step_s: float,
    settings: dict[str, Any],
    window_log2: int = 20,
    begin_s: float = 0,
) -> Trace:
    """Two superposed triangle waves into H2S, from ``begin_s`` to ``seconds``, looked at in steps of time."""
    waves = Triangle(length=size, lower=lower_pps, upper=upper_pps, intervals=intervals_s)
    times = waves.times(seconds) - begin_s
    times = 1e9 * times[times >= 0]
    with Receiving(host, size, times, settings, window_log2) as load:
        load.finish()
        offered = np.bincount((times / 1e9 / step_s).astype(int))
        taken_s = (np.array(load.delivered_ns) - load.start_ns) / 1e9
        places = (taken_s / step_s).astype(int)
        message_places = ((np.array(load.message_times) - load.start_ns) / 1e9 / step_s).astype(int)
        spent = np.array(load.spent_ns)
        steps = []
        for n in range(len(offered)):
            here = spent[places == n]
            messages = int((message_places == n).sum())
            steps.append(
                Step(
                    begin_s + n * step_s,
                    float(offered[n]) * size * 8 / step_s,
                    len(here) * size * 8 / step_s,
                    float(np.percentile(here, 99, method="inverted_cdf")) if len(here) else 0.0,
                    len(here) / messages if messages else 0.0,
                )
            )
        return Trace(tuple(steps), len(times), len(load.numbers), load.messages, load.latency())


def critical(mode: str, burst: bool, packets: int, size: int = 256, seed: int = 1) -> Latency:
    """Latency-critical frames at port 1, at random every 20 to 40 us, and perhaps a full line of 1,514-byte frames at
    port 0. ``mode``: "express" (lane of their own), "flush" (they close the batch that they are in), "plain" (not
    marked), "single" (nothing is batched). From a frame's last bit on the line to software's having it, PCIe host.
    """
    setup = SETUPS["pcie"]
    gaps = np.random.default_rng(seed).uniform(20_000, 40_000, packets - 1)
    times = np.concatenate([[0.0], np.cumsum(gaps)])
    frames = Frames(size, packets)
    spent: list[float] = []
    faults = 0
    with open_card("pcie") as card, tempfile.TemporaryDirectory() as folder:
        driver = start_driver(card)
        settings = batching(SINGLE if mode == "single" else 64, 10)
        driver.h2s.start(ReceiveSettings(**settings, express=mode == "express"))
        header = Header(SOFTWARE, 1, 1, critical=mode in ("express", "flush"))
        driver.setup_port(0)
        driver.setup_port(1)
        driver.classify(0, 0, 0, 0, Header(SOFTWARE, 2, 2))
        driver.classify(1, 0, 0, 0, header)
        frames.write(Path(folder) / "critical.pcap", times)
        card.source(1, f"pcap:{folder}/critical.pcap", "recorded")
        if burst:
            card.source(0, f"gen:size={MAX_PACKET},count={round(times[-1] / setup.wire_ns(MAX_PACKET))}")

        def deliver(found: Sequence[Packet], now_ns: int) -> None:
            nonlocal faults
            for packet in found:
                if packet.header.source != 1 or len(packet.payload) != size:
                    continue
                number = frames.number(packet.payload)
                faults += packet.payload != frames.data(number) or number != len(spent)
                spent.append(now_ns - start - float(times[number]) - setup.arrival_ns(size))

        start = driver.clock()
        Host(card, driver, PROFILES["pcie"], deliver).run(lambda: len(spent) >= packets)
        faults += packets - len(spent)
    return latency_of(spent, faults)


def both_ways(size: int, buffer_kb: int, packets: int) -> BothWays:
    """A full line into H2S and one out of S2H at once, PCIe host: a line of 10 Gb/s."""
    setup = SETUPS["pcie"]
    out = Frames(size, packets)
    with Receiving("pcie", size, np.arange(packets) * setup.wire_ns(size), batching(buffer_kb, 0.1)) as load:
        card, driver = load.card, load.driver
        card.sink(0, "memory", timestamps="card")
        driver.s2h.configure(**batching(buffer_kb))
        driver.s2h.send(Packet(out.data(n), Header(PORTS[0])) for n in range(packets))
        driver.s2h.flush()
        load.finish()
        card.run()
        sent = card.received(0)
        times = [frame.timestamp_ns for frame in sent]
        steady = times[len(times) // 4 :]  # the MAC's own buffer is full by then
        ideal = (len(steady) - 1) * setup.wire_ns(size)
        line = load.message_times[-1] - load.start_ns
        counters = driver.counters()
        return BothWays(
            size,
            len(load.numbers) / packets * min(1.0, packets * setup.wire_ns(size) / (line - _TAIL_NS)),
            ideal / (steady[-1] - steady[0]),
            sum(counters.dropped.values()) + card.stats().ports[0].rx_overruns,
            load.faults + out.faults(frame.data for frame in sent) + packets - len(sent),
        )


_TAIL_NS = 102_000  # the last batch's timeout and message
