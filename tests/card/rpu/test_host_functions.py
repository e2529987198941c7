"""Virtual functions as the host port: drivers of functions and firmware exchange packets, each once, in order of its
flow and byte for byte, or counted; and a card goes on whatever its drivers do."""

from __future__ import annotations

import json
import random
import signal
import struct
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from function_card import FunctionCard
from host.packed import Buffer
from patience import until
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap, wrpcap
from vhost_front_end import GUEST, SIZE, FrontEnd

from headrace.card.functions import Plugs, Policy, Side
from headrace.cards.rpu import elf, program
from headrace.cards.rpu.card import driver_of, open_rpu_card
from headrace.cards.rpu.driver import RpuDriver
from headrace.cards.rpu.host import RpuFunctions
from headrace.cards.rpu.run import RpuJob, run
from headrace.cli import main
from headrace.engines.functions import FunctionPorts
from headrace.errors import HeadraceError

UNITS, FUNCTIONS = 2, 3
PARAMETERS = {"DATA_W": 128, "PMEM_KB": 512, "ACCELERATORS_LOW": 1, "FUNCTIONS": FUNCTIONS}  # as in test_swap.py
PROGRAM = Path(__file__).parent / "programs" / "functions.c"  # eth0 and function 0, functions 1 and 2
INVALID_DESC = 1 << 12
NUMBER = struct.Struct(">I")
MAC = "02:00:00:00:00:01"


@pytest.fixture
def functions() -> Iterator[FunctionCard]:
    with open_rpu_card(UNITS, parameters=PARAMETERS, progress=False) as card:
        told: list[str] = []
        found = RpuFunctions(card, driver_of(card))
        with Plugs(found, told.append) as plugs:
            card.sink(0, "memory")
            yield FunctionCard(card, found, plugs, told)


@pytest.fixture
def driver(functions: FunctionCard) -> RpuDriver:
    driver = driver_of(functions.card)
    driver.set_policy("flow_hash")
    driver.set_flow_control(True)
    driver.load(elf.read(program.build([PROGRAM])))
    driver.boot()
    assert driver.ready()
    functions.card.flow_control(0, True)
    functions.card.source(0, "queue", timing=2e9)
    return driver


def frames_of(seed: int, count: int, longest: int = 1514) -> list[bytes]:
    """Frames of several flows, with numbers."""
    rng = random.Random(seed)
    found = []
    for number in range(count):
        head = Ether(dst=MAC) / IP(dst=f"10.0.{seed}.{rng.randrange(8)}") / UDP(sport=9)
        size = rng.choice((64, 65, 128, 1514, rng.randint(60, longest))) - 42
        found.append(bytes(head / (NUMBER.pack(number) + rng.randbytes(size - 4))))
    return found


def by_flow(frames: list[bytes]) -> dict[bytes, list[bytes]]:
    """The frames of each flow, in their order."""
    found: dict[bytes, list[bytes]] = defaultdict(list)
    for frame in frames:
        found[frame[26:34]].append(frame)
    return found


def troubles(driver: RpuDriver) -> int:
    """Packets that got lost before a unit, in one, or on their way out."""
    lost = sum(source.dropped + source.refused for source in driver.source_counters().values())
    return lost + sum(driver.counters(unit).errors for unit in driver.all_units()) + sum(driver.out_dropped())


@pytest.mark.parametrize("memory", [{}, {"read_latency_ns": 1000, "stalls": 7, "out_of_order": 5}], ids=str)
def test_every_packet_arrives_once_in_order_and_whole(
    functions: FunctionCard, driver: RpuDriver, memory: dict[str, int]
) -> None:
    functions.card.memory.configure(**memory)
    ports = [functions.link(function, 2e9) for function in range(FUNCTIONS)]
    sent = {port: frames_of(port, 150, 9216) for port in (0, *ports)}
    for port, frames in sent.items():
        functions.card.send(port, frames)
    assert functions.card.run().reason == "idle"
    for one, other in ((0, ports[0]), (ports[0], 0), (ports[1], ports[2]), (ports[2], ports[1])):
        assert by_flow(functions.frames(other)) == by_flow(sent[one])
    assert FunctionPorts(functions.plugs, 2, 8).totals() == (450, 0, 450, 0)
    assert sum(driver.counters(unit).rx_packets for unit in driver.all_units()) == 600
    assert all(driver.counters(unit).rx_packets for unit in driver.all_units()), "flows go to all units"
    assert troubles(driver) == 0 and not functions.told


def pump(functions: FunctionCard) -> None:
    """Until nothing is under way: doorbells are seen in runs."""
    functions.card.run(until=None, cycles=30_000)


def connect(functions: FunctionCard, path: Path) -> FrontEnd:
    functions.plugs.plug(0, f"vhost:{path}")
    guest = FrontEnd(path, functions.plugs.poll)
    guest.start()
    return guest


def test_a_guest_and_the_wire(functions: FunctionCard, driver: RpuDriver, tmp_path: Path) -> None:
    guest = connect(functions, tmp_path / "vf0")
    rng = random.Random(1)
    guest.post(8)
    there, back = frames_of(1, 20), frames_of(2, 20)
    for turn in range(20):
        guest.send(there[turn], pieces=rng.choice((1, 2, 5)))
        functions.card.send(0, [back[turn]])
        pump(functions)
        assert guest.received() == [back[turn]], turn
        assert len(guest.drivers[1].used()) == 1
        assert guest.called(0) and guest.called(1)
        guest.post(1)
    assert functions.frames(0) == there
    guest.close()
    functions.plugs.poll()
    assert functions.told == ["function 0: its front end has gone"]
    assert troubles(driver) == 0


def test_a_guest_that_lies_and_one_that_goes_leave_the_others_alone(
    functions: FunctionCard, driver: RpuDriver, tmp_path: Path
) -> None:
    card, ports = functions.card, [functions.link(function, 2e9) for function in (1, 2)]
    guest = connect(functions, tmp_path / "vf0")
    guest.drivers[1].add([Buffer(GUEST + SIZE, 60)])  # behind its memory
    guest.send(b"\1" * 60)
    sent = {port: frames_of(port, 300) for port in ports}
    for port, frames in sent.items():
        card.send(port, frames)
    wire = frames_of(9, 200)
    card.send(0, wire)
    card.run(until=None, cycles=40_000)
    received = {port: functions.frames(port) for port in ports}
    assert all(len(frames) > 20 for frames in received.values()), "meanwhile"
    assert functions.functions.counters(Side.RECEIVE, 0).dropped_full > 0, "it has no buffers"
    guest.close()
    functions.plugs.poll()
    assert functions.told == [
        "function 0: its front end has gone",
        "function 0: its transmit queue has failed: host memory answered with an error",
    ]
    functions.plugs.unplug(0)
    assert card.run().reason == "idle"
    for port, other in zip(ports, reversed(ports), strict=True):
        assert by_flow(received[port] + functions.frames(port)) == by_flow(sent[other])
    assert functions.frames(0) == []
    lost = functions.functions.counters(Side.RECEIVE, 0)
    assert lost.packets + lost.dropped + lost.dropped_full + lost.dropped_off == len(wire)
    assert troubles(driver) == 0
    again = functions.link(0, 2e9)
    card.send(again, wire)
    card.send(0, wire)
    assert card.run().reason == "idle"
    assert by_flow(functions.frames(0)) == by_flow(functions.frames(again)) == by_flow(wire)


def test_a_function_that_is_not_there_is_no_port(functions: FunctionCard, driver: RpuDriver) -> None:
    card = functions.card
    port = functions.link(0)
    card.source(1, [b"\3" * 60])
    assert card.run().reason == "idle"
    flags = [driver.state(unit).errors_seen & INVALID_DESC for unit in driver.all_units()]
    assert sorted(flags) == [0, INVALID_DESC]
    sent = frames_of(3, 50)
    card.send(0, sent)
    assert card.run().reason == "idle"
    assert by_flow(functions.frames(port)) == by_flow(sent)
    assert all(driver.state(unit).outstanding == 0 for unit in driver.all_units())


def test_a_reset_of_a_unit_leaves_no_piece_of_a_packet(functions: FunctionCard, driver: RpuDriver) -> None:
    card, code = functions.card, elf.read(program.build([PROGRAM]))
    port = functions.link(0)
    card.source(0, "queue", timing=20e9)
    sent = frames_of(4, 400, 9216)
    card.send(0, sent)
    resets = 0
    while driver.out_dropped()[2] == 0:
        assert resets < 50
        resets += 1
        card.run(until=None, cycles=500)
        driver.load(code, [resets % UNITS])
        driver.boot([resets % UNITS])
        assert driver.ready()
    assert card.run().reason == "idle"
    got = functions.frames(port)
    assert len(got) == len(set(got)) and set(got) <= set(sent)
    drops = functions.functions.counters(Side.RECEIVE, 0)
    errors = sum(driver.counters(unit).errors for unit in driver.all_units())
    assert len(sent) - 32 * resets <= len(got) + drops.dropped_full + errors <= len(sent)


def test_a_packet_to_a_function_has_9216_bytes_at_most(functions: FunctionCard, driver: RpuDriver) -> None:
    port = functions.link(0)
    functions.card.send(0, [bytes(length) for length in (9216, 9217, 12_000)])
    assert functions.card.run().reason == "idle"
    assert functions.frames(port) == [bytes(9216)]
    assert functions.functions.counters(Side.RECEIVE, 0).dropped_full == 2
    assert troubles(driver) == 0


def test_what_a_policy_drops_is_counted_once(functions: FunctionCard, driver: RpuDriver) -> None:
    ports = [functions.link(function) for function in (1, 2)]
    functions.functions.set_policy(1, Policy("02:00:00:00:00:07", spoofcheck=True))
    functions.card.send(ports[0], [bytes(Ether(src=src, dst=MAC)) + bytes(50) for src in ("02:00:00:00:00:07", MAC)])
    functions.card.send(ports[1], frames_of(6, 5))  # for another station
    assert functions.card.run().reason == "idle"
    assert FunctionPorts(functions.plugs, 2, 8).totals() == (7, 1, 1, 5)
    assert sum(driver.counters(unit).rx_packets for unit in driver.all_units()) == 6


def read(path: Path) -> list[bytes]:
    return [bytes(packet) for packet in rdpcap(str(path))]


def job(folder: Path, functions: dict[int, str], programs: str = "forwarder", **others: object) -> RpuJob:
    settings = {"programs": {0: programs, 1: programs}, "sources": {}, "units": UNITS, "policy": "flow_hash"}
    return RpuJob(**{**settings, "functions": functions, "parameters": PARAMETERS, **others})  # type: ignore[arg-type]


def test_the_forwarder_knows_a_function_as_the_host(tmp_path: Path) -> None:
    """It sends what comes from the host to loopback, and from there to the host."""
    wrpcap(str(tmp_path / "in.pcap"), [Ether(frame) for frame in frames_of(7, 100)])
    report = run(job(tmp_path, {0: str(tmp_path / "in.pcap")}))
    assert (report.received, report.from_host, report.sent, report.to_host) == (100, 100, 100, 100)
    assert (report.dropped, report.host_dropped, report.kept) == (0, 0, 0)
    assert sum(unit.rx_packets for unit in report.units) == 200 and not any(unit.fault for unit in report.units)


def test_units_reach_host_memory_beside_functions(functions: FunctionCard, driver: RpuDriver) -> None:
    """Each unit copies its part there, and sends packets of a function back to it meanwhile."""
    card, rng = functions.card, random.Random(1)
    card.memory.configure(read_latency_ns=500, write_latency_ns=200, stalls=5, out_of_order=5)
    driver.load(elf.read(program.build([PROGRAM.parent / "dram.c"])))
    driver.boot()
    assert driver.ready()
    port = functions.link(1, 2e9)
    sent = frames_of(5, 300)
    card.send(port, sent)
    size, packets, read, write, wait = 4000, 0x0104_0000, 5, 4, 1
    base = card.memory.allocate(2 * UNITS * 16 * size)
    data = rng.randbytes(UNITS * 16 * size)
    card.memory.write(base, data)
    for unit in range(UNITS):
        words = b""
        for part in range(16):
            at = base + (16 * unit + part) * size
            there = at + len(data)
            for what in (
                (read, size, 1, at),
                (wait, 0, 1, 0),
                (write, size, 0, there),
                (read, 1, 1, there),
                (wait, 0, 1, 0),
            ):
                words += struct.pack("<4IQ", what[0], packets, *what[1:])
        driver.write([unit], 0x0080_1000, words + bytes(4))
        driver.poke(unit)
    for _ in range(200):  # cores that look for a poke never sleep
        card.run(until=None, cycles=5000)
        done = [driver.state(unit).debug_out & 0xFFFF_FFFF for unit in range(UNITS)]
        if done == [1] * UNITS and functions.functions.counters(Side.RECEIVE, 1).packets == len(sent):
            break
    assert card.memory.read(base + len(data), len(data)) == data
    assert by_flow(functions.frames(port)) == by_flow(sent)
    counted = driver.dram_counters()
    assert (counted.reads, counted.writes, counted.read_errors) == (UNITS * 32, UNITS * 16, 0) and troubles(driver) == 0


def test_a_program_that_takes_no_packets_keeps_no_function(functions: FunctionCard, driver: RpuDriver) -> None:
    """What a function has sent that the card can't take any more is dropped when it is unplugged, and counted."""
    ports = [functions.link(function) for function in (0, 1)]
    driver.reset(driver.all_units())
    sent = frames_of(8, 300)
    for port in ports:
        functions.card.send(port, sent)
    functions.card.hang_limit(0)
    functions.card.run(until=None, cycles=200_000)
    counted = functions.functions.counters(Side.TRANSMIT, 0)
    assert 0 < counted.packets < 300
    functions.plugs.unplug(0)
    assert driver.source_counters()["host"].dropped > 0
    driver.boot()
    assert driver.ready()
    functions.card.run()
    totals = FunctionPorts(functions.plugs, 2, 8).totals()
    assert totals.sent < 600
    came = sum(driver.counters(unit).rx_packets for unit in driver.all_units())
    assert came + driver.source_counters()["host"].dropped == totals.sent


def test_captures_of_the_wire_and_of_a_function(tmp_path: Path) -> None:
    sent = {name: frames_of(seed, 200) for seed, name in enumerate(("wire", "host"))}
    for name, frames in sent.items():
        wrpcap(str(tmp_path / name), [Ether(frame) for frame in frames])
    links = {"sources": {0: str(tmp_path / "wire")}, "sinks": {0: str(tmp_path / "to_wire")}, "rate": 5e9}
    sinks = {"function_sinks": {0: str(tmp_path / "to_host")}}
    report = run(job(tmp_path, {0: str(tmp_path / "host")}, "nic", **links, **sinks))
    assert by_flow(read(tmp_path / "to_host")) == by_flow(sent["wire"])
    assert by_flow(read(tmp_path / "to_wire")) == by_flow(sent["host"])
    assert (report.received, report.sent, report.dropped, report.host_dropped) == (400, 400, 0, 0)


@pytest.mark.parametrize(
    ("functions", "others", "message"),
    [
        ({3: "null"}, {}, "function 3: the card has 3, from 0"),
        ({0: "null"}, {"sources": {2: "in.pcap"}}, "the card has virtual functions instead of the host port's rings"),
        ({0: "serial:x"}, {}, "serial:x"),
        ({}, {"parameters": {"FUNCTIONS": "x"}}, "-P FUNCTIONS=x: not a number"),
        (
            {0: "null"},
            {"function_sinks": {1: "x.pcap"}},
            "-w vf:1=x.pcap: no such link, or its driver is another process",
        ),
    ],
)
def test_what_can_not_be(tmp_path: Path, functions: dict[int, str], others: dict[str, object], message: str) -> None:
    with pytest.raises(HeadraceError, match=message):
        run(job(tmp_path, functions, **others))


@pytest.fixture
def vf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., object]]:
    """``headrace vf`` on a card that runs in a process of its own, with a guest to come as function 0."""
    control = tmp_path / "control"
    settings = [word for name, value in PARAMETERS.items() for word in ("-P", f"{name}={value}")]
    words = ["rpu", "run", PROGRAM, "--units", UNITS, "--port", f"vf:0=vhost:{tmp_path}/vf0", "--control", control]
    code = "import sys; from headrace.cli import main; sys.exit(main())"

    def ask(command: str, *more: object) -> object:
        capsys.readouterr()
        assert main(["vf", command, "--control", str(control), *map(str, more)]) == 0
        text = capsys.readouterr().out
        return json.loads(text) if "--json" in more else text

    with subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words), *settings, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None and process.stdout is not None
        assert "control at" in process.stderr.readline()
        yield ask
        process.send_signal(signal.SIGINT)
        report = json.loads(process.stdout.read())
        assert process.wait() == 0, process.stderr.read()
        assert (report["from_host"], report["to_host"], report["host_dropped"]) == (31, 0, 30)
        assert report["sent"] == 1


def test_functions_come_and_go_while_the_card_runs(vf: Callable[..., list[dict[str, object]]]) -> None:
    assert [(row["port"], row["up"]) for row in vf("list", "--json")] == [(2, False), (10, False), (18, False)]
    vf("set", 1, "mac", MAC, "trust", "on")
    vf("plug", 1, "gen:count=30,size=100")
    until(lambda: vf("stats", 1, "--json")[0]["sent"] == 30, "the function's packets")
    until(lambda: vf("stats", 2, "--json")[0]["dropped_off"] == 30, "what nobody receives")
    listed = vf("list", "--json")[1]
    assert (listed["mac"], listed["trust"], listed["link"]) == (MAC, True, "gen:count=30,size=100")
    vf("unplug", 1)
    vf("unplug", 0)
    assert [row["link"] for row in vf("list", "--json")] == [None] * FUNCTIONS
    vf("plug", 0, "gen:count=1,size=60")
    until(lambda: vf("stats", 0, "--json")[0]["sent"] == 1, "the packet of a function that is plugged again")
