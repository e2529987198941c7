"""What a policy promises: what may pass does, whole and in order, with and without its tag; the rest is counted."""

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from cocotb.utils import get_sim_time
from scapy.layers.l2 import Dot1Q, Ether

from headrace.testing.streams import (
    PAIRS,
    PATTERNS,
    PERIOD_PS,
    Channel,
    Sink,
    Source,
    behaviour,
    cycles,
    frame_words,
    frames_of,
    never,
    start,
    until,
)

LATENCY = 4
GROUPS = ("ff:ff:ff:ff:ff:ff", "33:33:00:00:00:01", "01:00:5e:00:00:01")
TAGS = {0x8100, 0x88A8, 0x9100}


@dataclass(frozen=True)
class Policy:
    """As `ip link set vf` has it; no MAC address and VLAN 0 are off."""

    mac: str | None = None
    vlan: int = 0
    qos: int = 0
    spoofcheck: bool = False
    trust: bool = False
    service: bool = False  # the VLAN's tag is of 802.1ad

    @property
    def ethertype(self) -> int:
        """Of the port VLAN's tag."""
        return 0x88A8 if self.service else 0x8100

    def word(self) -> int:
        """The policy as the block takes it."""
        mac = int.from_bytes(bytes.fromhex((self.mac or "00:" * 6).replace(":", "")), "little")
        return self.service << 65 | self.spoofcheck << 64 | self.trust << 63 | self.qos << 60 | self.vlan << 48 | mac

    def sends(self, data: bytes) -> bytes | str:
        """What becomes of a frame that the function sends: that, or why it is dropped. By scapy."""
        frame = Ether(data)
        if self.spoofcheck and frame.src != self.mac:
            return "spoofed"
        if not self.vlan:
            return data
        if frame.type in (TAGS - {0x8100} if self.service else TAGS):
            return "tagged"
        tag = Dot1Q(vlan=self.vlan, prio=self.qos, type=frame.type)
        return bytes(Ether(dst=frame.dst, src=frame.src, type=self.ethertype) / tag) + data[14:]

    def receives(self, data: bytes) -> bytes | str:
        """The same of a frame for the function."""
        frame = Ether(data.ljust(18, b"\0"))  # scapy takes whole tags only
        if self.vlan:
            if len(data) < 16 or frame.type != self.ethertype or int.from_bytes(data[14:16]) & 0xFFF != self.vlan:
                return "filtered_vlan"
            data = data[:12] + data[16:]
        if self.mac and not self.trust and not int(frame.dst[:2], 16) & 1 and frame.dst != self.mac:
            return "filtered_mac"
        return data


@dataclass
class Side:
    """One way through the block: what goes in and comes out."""

    dut: Any
    into: str
    out: str

    def channel(self, side: str) -> Channel:
        """A stream whose word ends with the queue."""
        dut = self.dut
        valid, ready, *payload = (
            getattr(dut, f"{side}_t{name}") for name in ("valid", "ready", "data", "keep", "last")
        )
        return Channel(dut.clk, valid, ready, (*payload, getattr(dut, f"{side}_queue")))

    async def pass_through(self, frames: list[tuple[int, bytes]], stalls: Any, out_stalls: Any) -> None:
        """Sends frames of queues, and takes what comes until `finished`."""
        width = len(getattr(self.dut, f"{self.into}_tdata"))
        words = [word for queue, data in frames for word in frame_words(data, width, lambda queue=queue: queue)]
        self.source = Source(self.channel(self.into), words, stalls)
        self.sink = Sink(self.channel(self.out), out_stalls)
        cocotb.start_soon(self.sink.run())
        await self.source.run()

    def frames(self) -> list[tuple[int, bytes]]:
        """What came out: queues and frames."""
        got = frames_of(self.sink.taken)
        assert all(len(set(queues)) == 1 for _, queues in got)
        return [(queues[0], data) for data, queues in got]


class Block:
    """The block, and what was set."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.functions, self.pairs = int(dut.FUNCTIONS.value), int(dut.PAIRS.value)
        self.policies = [Policy() for _ in range(self.functions)]
        self.sent = Side(dut, "sent", "m_axis")
        self.received = Side(dut, "s_axis", "received")

    async def begin(self) -> None:
        """Reset; policies may be set."""
        dut = self.dut
        dut.set_valid.value = dut.read.value = dut.sent_tvalid.value = dut.received_tready.value = 0
        await start(dut)
        await cycles(dut.clk, self.functions + 2)

    async def set(self, function: int, policy: Policy) -> None:
        """Set a policy."""
        dut = self.dut
        dut.set_valid.value, dut.set_function.value, dut.set.value = 1, function, policy.word()
        await RisingEdge(dut.clk)
        dut.set_valid.value = 0
        self.policies[function] = policy

    async def drops(self, function: int) -> Counter[str]:
        """What was counted."""
        dut = self.dut
        dut.read.value, dut.read_function.value = 1, function
        await RisingEdge(dut.clk)
        dut.read.value = 0
        await until(dut.clk, lambda: bool(dut.read_valid.value), 8)
        words = int(dut.drops.value)
        names = ("spoofed", "tagged", "filtered_vlan", "filtered_mac")
        found = Counter({name: words >> 64 * n & (1 << 64) - 1 for n, name in enumerate(names)})
        return +found


def some_mac(rng: random.Random) -> str:
    return ":".join(f"{byte:02x}" for byte in (rng.randrange(128) * 2, *rng.randbytes(5)))


def some_policy(rng: random.Random) -> Policy:
    mac = rng.choice((None, some_mac(rng), some_mac(rng)))
    vlan = rng.choice((0, rng.randrange(1, 4095)))
    return Policy(
        mac, vlan, rng.randrange(8), mac is not None and rng.random() < 0.6, rng.random() < 0.3, rng.random() < 0.4
    )


def near(rng: random.Random, mac: str | None) -> str:
    """An address that differs from one in a bit, or is another's."""
    if mac is None or rng.random() < 0.3:
        return some_mac(rng)
    number = int(mac.replace(":", ""), 16) ^ 1 << rng.randrange(40)
    return ":".join(f"{byte:02x}" for byte in number.to_bytes(6, "big"))


def some_frame(rng: random.Random, policy: Policy, beat: int, shortest: int) -> bytes:
    """A frame that the policy may pass, and one that it may not."""
    src = rng.choice((policy.mac or some_mac(rng), policy.mac or some_mac(rng), near(rng, policy.mac)))
    dst = rng.choice((policy.mac or some_mac(rng), near(rng, policy.mac), rng.choice(GROUPS)))
    frame = Ether(src=src, dst=dst, type=rng.choice((0x0800, 0x86DD, 0x9181, 0x8101)))
    if rng.random() < 0.6:
        vlan = rng.choice((policy.vlan, policy.vlan, 0, policy.vlan ^ 1 << rng.randrange(12), rng.randrange(4096)))
        tag = Dot1Q(vlan=vlan, prio=rng.randrange(8), type=0x0800)
        frame = Ether(src=src, dst=dst, type=rng.choice((0x8100, 0x8100, 0x88A8, 0x88A8, 0x9100))) / tag
    size = rng.choice((shortest, 17, 60, 64, beat * rng.randrange(1, 5) + rng.randrange(-6, 7), rng.randrange(14, 400)))
    head = bytes(frame)
    return (head + rng.randbytes(500))[: max(size, shortest)]


def outcomes(block: Block, side: str, frames: list[tuple[int, bytes]]) -> tuple[list[Any], dict[int, Counter[str]]]:
    """What is to come out, and what to be counted."""
    passed, drops = [], defaultdict(Counter)
    for queue, data in frames:
        function = queue // block.pairs
        policy = block.policies[function]
        became = policy.sends(data) if side == "sent" else policy.receives(data)
        if isinstance(became, str):
            drops[function][became] += 1
        else:
            passed.append((queue, became))
    return passed, drops


def some_frames(block: Block, rng: random.Random, count: int) -> list[tuple[int, bytes]]:
    beat = len(block.dut.s_axis_tdata) // 8
    queues = [rng.randrange(block.functions * block.pairs) for _ in range(count)]
    return [(queue, some_frame(rng, block.policies[queue // block.pairs], beat, 14)) for queue in queues]


async def settle(block: Block) -> None:
    """Until nothing moves."""
    await cycles(block.dut.clk, 2)
    await until(block.dut.clk, lambda: bool(block.dut.idle.value), 2000)


@behaviour()
@cocotb.parametrize((("stalls", "out_stalls"), PAIRS))
async def what_may_pass_does_and_the_rest_is_counted(dut: Any, stalls: Any, out_stalls: Any) -> None:
    """Both ways at once, with a policy of its own for each function."""
    rng = random.Random(random.getrandbits(64))
    block = Block(dut)
    await block.begin()
    for function in range(block.functions):
        await block.set(function, some_policy(rng))
    frames = {name: some_frames(block, rng, 150) for name in ("sent", "received")}
    ways = {"sent": block.sent, "received": block.received}
    tasks = [cocotb.start_soon(way.pass_through(frames[name], stalls(), out_stalls())) for name, way in ways.items()]
    for task in tasks:
        await task
    await settle(block)
    drops: dict[int, Counter[str]] = defaultdict(Counter)
    for name, way in ways.items():
        passed, dropped = outcomes(block, name, frames[name])
        assert way.frames() == passed
        for function, counts in dropped.items():
            drops[function] += counts
    for function in range(block.functions):
        assert await block.drops(function) == drops[function], function


@behaviour()
async def a_tag_that_is_cut_off_is_none(dut: Any) -> None:
    """Though spare lanes have the rest of it."""
    block = Block(dut)
    await block.begin()
    await block.set(0, Policy(vlan=7))
    way, data = block.received, bytes(Ether(dst=GROUPS[0], src=GROUPS[1], type=0x8100) / Dot1Q(vlan=7))[:16]
    head = int.from_bytes(data, "little")
    words = [(head, (1 << size) - 1, 1, 0) for size in (14, 15, 16)]
    way.sink = Sink(way.channel(way.out), never())
    cocotb.start_soon(way.sink.run())
    await Source(way.channel(way.into), words, never()).run()
    await settle(block)
    assert way.frames() == [(0, data[:12])]
    assert await block.drops(0) == {"filtered_vlan": 2}


@behaviour()
async def without_a_policy_everything_passes_in_four_cycles(dut: Any) -> None:
    """A beat a cycle, as it came."""
    rng = random.Random(2)
    block = Block(dut)
    await block.begin()
    for name, way in (("sent", block.sent), ("received", block.received)):
        frames = some_frames(block, rng, 100)
        await way.pass_through(frames, never(), never())
        await settle(block)
        assert way.frames() == frames, name
        assert [b - a for a, b in zip(way.source.times_ps, way.sink.times_ps, strict=True)] == [LATENCY * 2000] * len(
            way.sink.taken
        )
        times = way.sink.times_ps
        assert (times[-1] - times[0]) // 2000 == len(times) - 1, name
    assert not any([await block.drops(function) for function in range(block.functions)])


@behaviour()
async def tags_cost_no_cycle_but_their_bytes(dut: Any) -> None:
    """Frames that follow each other leave with as many gaps as they have beats less, and wait for one beat more."""
    rng = random.Random(3)
    block = Block(dut)
    await block.begin()
    for function in range(block.functions):
        await block.set(function, Policy(vlan=function + 1))
    beat = len(dut.s_axis_tdata) // 8
    queue = block.functions * block.pairs - 1
    for size in (beat * 3 - 4, beat * 3, beat * 3 - 3, 60):
        data = bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02", type=0x800)) + rng.randbytes(size)
        plain = data[:size]
        marked = block.policies[-1].sends(plain)
        assert isinstance(marked, bytes)
        for way, frame, longer in ((block.sent, plain, marked), (block.received, marked, marked)):
            await way.pass_through([(queue, frame)] * 20, never(), never())
            await settle(block)
            beats = -(-len(longer) // beat) * 20
            assert (way.sink.times_ps[-1] - way.source.times_ps[0]) // 2000 <= beats + LATENCY + 1
            assert way.frames() == [(queue, marked if way is block.sent else plain)] * 20


@behaviour()
async def drops_are_counted_one_a_cycle(dut: Any) -> None:
    """Frames of one beat, each of them dropped, by one function and by several."""
    rng = random.Random(4)
    block = Block(dut)
    await block.begin()
    for function in range(block.functions):
        await block.set(function, Policy("02:00:00:00:00:01", spoofcheck=True))
    frame = bytes(Ether(src="02:00:00:00:00:03", dst="02:00:00:00:00:02", type=0x800)) + b"\0\0"
    queues = [0] * 10 + [rng.randrange(block.functions * block.pairs) for _ in range(200)]
    for way in (block.sent, block.received):
        await way.pass_through([(queue, frame) for queue in queues], never(), never())
        assert (way.source.times_ps[-1] - way.source.times_ps[0]) // 2000 == len(queues) - 1
    await settle(block)
    count = Counter(queue // block.pairs for queue in queues)
    for function in range(block.functions):
        expected = +Counter({"spoofed": count[function], "filtered_mac": count[function]})
        assert await block.drops(function) == expected


def steady(count: int) -> Iterator[bool]:
    while True:
        for _ in range(count):
            yield True
        yield False


@behaviour()
@cocotb.parametrize(name=["sent", "received"])
async def a_policy_holds_from_the_next_frame_on_in_whole(dut: Any, name: str) -> None:
    """Each frame passes, or is dropped, by the policy that is set when it begins, or by one that is set soon after."""
    rng = random.Random(5)
    block = Block(dut)
    await block.begin()
    way: Side = getattr(block, name)
    policies = [Policy(), Policy(vlan=77, qos=5, service=True), Policy("02:00:00:00:00:01", 9, 1, True)]
    head = bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:01"))[:12]
    kinds = [head + bytes.fromhex(tag) for tag in ("0800", "0800", "88a8 004d 0800", "8100 2009 0800")]
    frames = [(0, rng.choice(kinds) + rng.randbytes(rng.randrange(4, 300))) for _ in range(200)]
    task = cocotb.start_soon(way.pass_through(frames, steady(1), PATTERNS[1]()))
    history = [(0, policies[0])]
    while not task.done():
        await block.set(0, rng.choice(policies))
        history.append((get_sim_time("ps"), block.policies[0]))
        await cycles(dut.clk, rng.randrange(1, 30))
    await settle(block)
    got = [data for _, data in way.frames()]
    beats = [-(-len(data) // (len(dut.s_axis_tdata) // 8)) for _, data in frames]
    seen = set()
    for (_, data), first in zip(frames, itertools.accumulate(beats, initial=0), strict=False):
        begun = way.source.times_ps[first]
        before = [policy for time, policy in history if time <= begun - 2 * PERIOD_PS]
        soon = [policy for time, policy in history if begun - 2 * PERIOD_PS < time <= begun + 20 * PERIOD_PS]
        became = [policy.sends(data) if name == "sent" else policy.receives(data) for policy in (*before[-1:], *soon)]
        if got and got[0] in became:
            seen.add(len(got.pop(0)) - len(data))
        else:
            assert any(isinstance(each, str) for each in became), (data, became)
            seen.add("dropped")
    assert not got and seen == {0, 4 if name == "sent" else -4, "dropped"}
