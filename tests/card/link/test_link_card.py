"""The link card: what it does to packets in card time, against a model of tc-netem, and how exact it is."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from link_bench import PARAMETERS, SEED, LinkBench, seeds
from link_model import ONES, LinkModel, Settings

from headrace.card import Frame
from headrace.cards.link.card import open_link_card
from headrace.cards.link.service import Service
from headrace.engines.netem import SCALE, Loss, Netem, jitter_step, parse_netem, table_of
from headrace.errors import HeadraceError
from headrace.evaluate.loads.link import measure_delay, measure_loss, measure_rate

PERCENT = ONES / 100


def numbered(count: int, longest: int = 200) -> list[bytes]:
    rng = random.Random(count)
    return [n.to_bytes(4, "big") + rng.randbytes(rng.randint(56, longest)) for n in range(count)]


@pytest.mark.parametrize(
    ("delay_ns", "size", "packets"), [(0, 60, 300), (3_000, 1514, 100), (20_000_000, 1514, 300), (10**9, 60, 50)]
)
def test_a_delay_is_exact_to_a_tenth_of_a_microsecond(delay_ns: int, size: int, packets: int) -> None:
    """Without delay a packet is there as soon as what becomes of it is decided."""
    found = measure_delay(delay_ns, size, packets, parameters=PARAMETERS)
    assert found.wrong == 0
    assert found.error_ns < (100 if delay_ns else 500)
    assert bool(found.by_memory) == (delay_ns == 20_000_000)  # only then are more packets under way than RAM holds


@pytest.mark.parametrize("rate_bps", [64e3, 10e6, 1e9, 10e9])
def test_a_rate_is_right_to_a_ten_thousandth(rate_bps: float) -> None:
    found = measure_rate(rate_bps, packets=100, parameters=PARAMETERS)
    assert abs(found.error) < 1e-4


@pytest.mark.parametrize("loss", [Loss(0.01), Loss(0.02, "gemodel", r=0.25, bad=0.9, good=0.001)], ids=str)
def test_as_many_packets_are_lost_as_must_be(loss: Loss) -> None:
    found = measure_loss(loss, 50_000, parameters=PARAMETERS)
    assert found.within, found


def test_packets_are_lost_duplicated_and_corrupted_as_in_the_model(bench: LinkBench) -> None:
    words = "delay 2ms loss 10% 25% duplicate 8% corrupt 20% 50%"
    bench.links.set(0, parse_netem(words))
    settings = Settings(
        delay_ns=2_000_000,
        loss=1,
        p=round(10 * PERCENT),
        duplicate=round(8 * PERCENT),
        corrupt=round(20 * PERCENT),
        rho=(round(25 * PERCENT), 0, round(50 * PERCENT), 0),
    )
    frames = numbered(400)
    model = LinkModel(settings, seeds())
    expected = [one.data for number, data in enumerate(frames) for one in model.arrive(number, data)]
    assert bench.send(frames) == expected
    counted = bench.links.counters(0)
    assert (counted.received, counted.sent) == (400, len(expected))
    for name in ("lost", "duplicated", "corrupted"):
        assert getattr(counted, name) == model.counts[name] > 3
    assert model.counts["lost"] < 30, "with the correlation much fewer than 10 %"


@pytest.mark.parametrize("distribution", ["uniform", "normal", "pareto", "paretonormal"])
def test_jitter_has_the_distribution_that_is_named(bench: LinkBench, distribution: str) -> None:
    """Each packet's delay to 2 us, as the model has it; and so the order in which they leave."""
    bench.links.set(0, parse_netem(f"delay 10ms 1ms 20% distribution {distribution}"))
    shaped = distribution != "uniform"
    settings = Settings(
        delay_ns=10_000_000, jitter_ns=1_000_000, jitter_step=jitter_step(0.2, distribution), shaped=shaped
    )
    model = LinkModel(settings, seeds(), table_of(distribution) if shaped else [])
    frames = numbered(300)
    delays = [model.arrive(0, data)[0].leave_ns for data in frames]
    start = bench.card.stats().time_ns
    bench.card.source(0, frames, timing=1e9)
    bench.card.run()
    got = bench.card.received(1)
    assert len(got) == 300
    sent = dict(zip(frames, wire_ends(frames, 1e9), strict=True))
    for frame in got:
        expected = start + sent[frame.data] + delays[int.from_bytes(frame.data[:4], "big")]
        assert abs(frame.timestamp_ns - expected) < 2_000
    assert [frame.data for frame in got] != frames


def test_short_delays_with_jitter_are_kept(bench: LinkBench) -> None:
    """Each packet leaves within 0.1 us of its time, those that overtake others too."""
    bench.links.set(0, parse_netem("delay 3us 2us"))
    model = LinkModel(Settings(delay_ns=3_000, jitter_ns=2_000), seeds())
    frames = numbered(400)
    ends = wire_ends(frames, 1e9)
    leaves = [end + model.arrive(0, data)[0].leave_ns for data, end in zip(frames, ends, strict=True)]
    bench.card.source(0, frames, timing=1e9)
    bench.card.run()
    got = bench.card.received(1)
    order = [int.from_bytes(frame.data[:4], "big") for frame in got]
    assert sorted(order) == list(range(400)) != order
    off = [frame.timestamp_ns - leaves[number] for frame, number in zip(got, order, strict=True)]
    assert max(off) - min(off) < 100
    times = [leaves[number] for number in order]
    assert all(later > earlier - 10 for earlier, later in pairwise(times))  # the source's own times are whole cycles


@pytest.mark.parametrize("correlation", [0.25, 0.9])
@pytest.mark.parametrize("distribution", ["uniform", "normal", "pareto", "paretonormal"])
def test_correlated_jitter_keeps_its_distribution(distribution: str, correlation: float) -> None:
    """The model, which the card is held to above, with what the driver sets: mean, deviation, correlation."""
    table = table_of(distribution) if distribution != "uniform" else []
    step = jitter_step(correlation, distribution)
    model = LinkModel(
        Settings(delay_ns=10**9, jitter_ns=5_000_000, jitter_step=step, shaped=bool(table)), seeds(), table
    )
    jitter = np.array([model.arrive(0, b"")[0].leave_ns for _ in range(40_000)]) - 1e9
    alone = np.array(table) / SCALE if table else np.linspace(-1, 1, 1000)
    assert abs(jitter.mean() / 5e6 - alone.mean()) < 0.06
    assert abs(jitter.std() / 5e6 - alone.std()) < 0.06 * alone.std()
    assert abs(np.corrcoef(jitter[1:], jitter[:-1])[0, 1] - correlation) < 0.03


def wire_ends(frames: list[bytes], bits_per_s: float) -> list[float]:
    """When each frame has come, from the first one's start on, at a rate that counts preambles and gaps in."""
    at, ends = 0.0, []
    for data in frames:
        ends.append(at + (max(len(data), 60) + 12) * 8 / 100)
        at += (max(len(data), 60) + 24) * 8e9 / bits_per_s
    return ends


def test_a_rate_keeps_the_order_in_spite_of_jitter(bench: LinkBench) -> None:
    bench.links.set(0, parse_netem("delay 5ms 4ms rate 100mbit"))
    frames = numbered(300)
    assert bench.send(frames) == frames


def test_reordered_packets_are_sent_at_once(bench: LinkBench) -> None:
    bench.links.set(0, parse_netem("delay 10ms reorder 100% gap 5"))
    frames = numbered(50)
    overtaking = [data for number, data in enumerate(frames) if number % 5 == 4]
    assert bench.send(frames) == overtaking + [data for data in frames if data not in overtaking]
    assert bench.links.counters(0).reordered == 10


def test_packets_above_the_limit_are_dropped(bench: LinkBench) -> None:
    bench.links.set(0, parse_netem("delay 10ms limit 25"))
    frames = numbered(100)
    assert bench.send(frames) == frames[:25]
    assert bench.links.counters(0).limited == 75


def test_packets_that_wait_are_counted(bench: LinkBench) -> None:
    bench.links.set(0, parse_netem("delay 1s"))
    bench.card.source(0, numbered(20), timing=1e9)
    bench.card.run(until=None, seconds=0.5)
    counted = bench.links.counters(0)
    assert (counted.received, counted.queued, counted.balance) == (20, 20, 0)
    bench.card.run()


def test_directions_are_set_each_by_itself(bench: LinkBench) -> None:
    bench.links.set(0, parse_netem("delay 30ms"))
    bench.links.set(1, parse_netem("loss 100%"))
    frames = numbered(20)
    bench.card.source(1, frames, timing=1e9)
    assert bench.send(frames) == frames
    assert bench.card.received(0) == []
    assert bench.links.counters(1).lost == 20


def test_bad_packets_and_those_that_are_too_long_are_dropped(bench: LinkBench) -> None:
    good = numbered(3)
    bench.card.set_rate(0, 10e9)  # not faster than the bus
    bench.card.send(0, [Frame(good[0]), Frame(good[1], error=True), Frame(bytes(16_385)), Frame(good[2])])
    bench.card.run()
    assert [frame.data for frame in bench.card.received(1)] == [good[0], good[2]]
    counted = bench.links.counters(0)
    assert (counted.received, counted.bad, counted.too_long) == (4, 1, 1)


def test_a_link_that_is_held_off_alone_loses_what_the_mac_does_not_wait_with(bench: LinkBench) -> None:
    bench.links.set(0, Netem(rate_bps=1e9))
    bench.links.hold_link(0, True)
    sent = [n.to_bytes(4, "big") + bytes(1500) for n in range(1500)]
    got = bench.send(sent, 30e9)
    stats = bench.card.stats().ports[0]
    assert stats.rx_overruns > 0 and stats.rx_frames + stats.rx_overruns == len(sent)
    rest = iter(sent)
    assert all(frame in rest for frame in got), "frames are changed, or in another order"


def test_long_packets_go_by_host_memory(bench: LinkBench) -> None:
    bench.links.set(0, parse_netem("delay 20ms 2ms"))
    frames = [number.to_bytes(4, "big") + random.Random(number).randbytes(16_380) for number in range(30)]
    assert Counter(bench.send(frames)) == Counter(frames)
    assert bench.card.stats().memory.write_bytes > 20 * 16_384
    assert bench.card.stats().memory.errors == 0


def test_the_same_seed_repeats_a_run(bench: LinkBench) -> None:
    bench.links.set(0, parse_netem("delay 3ms 2ms 50% loss 20% 50% duplicate 10% 20%"))
    bench.links.seed(SEED)
    frames = numbered(100)
    first = bench.send(frames)
    bench.links.seed(SEED)
    other = bench.send(frames)
    bench.links.seed(SEED + 1)
    assert sorted(first) == sorted(other)
    assert sorted(bench.send(frames)) != sorted(first)


def test_skipping_idle_time_changes_nothing() -> None:
    results = []
    for skip in (True, False):
        with open_link_card(2, SEED, PARAMETERS, progress=False) as (card, links):
            card.skip_idle(skip)
            card.sink(1, "memory")
            links.set(0, parse_netem("delay 60us 40us loss 5% duplicate 5% rate 2gbit"))
            card.source(0, numbered(80), timing=2e9)
            stats = card.run().stats
            results.append((card.received(1), links.counters(0), stats.cycles))
            assert bool(stats.skipped_cycles) == skip
    assert results[0] == results[1]


def test_a_running_card_is_asked_and_changed(bench: LinkBench) -> None:
    service = Service(bench.links)
    service.answer({"command": "set", "port": None, "words": ["loss", "100%"]})
    assert bench.send(numbered(10)) == []
    told = service.answer({"command": "set", "port": 0, "words": []})["links"]
    assert [(one["from"], one["to"], one["netem"]) for one in told] == [(0, 1, ""), (1, 0, "loss 100%")]
    assert bench.send(numbered(10)) == numbered(10)
    assert service.answer({"command": "stats"})["links"][0]["lost"] == 10
    with pytest.raises(HeadraceError, match="link 2: the card has 0 to 1"):
        service.answer({"command": "set", "port": 2, "words": []})
    with pytest.raises(HeadraceError, match="unknown request"):
        service.answer({"command": "set", "port": 0})


def test_four_ports_are_two_links() -> None:
    with open_link_card(4, SEED, PARAMETERS, progress=False) as (card, links):
        for port in range(4):
            card.sink(port, "memory")
            links.set(port, Netem(delay_ns=1_000_000 * (port + 1), jitter_ns=500_000))
        sent = {port: [bytes([port]) + data for data in numbered(60)] for port in range(4)}
        for port, frames in sent.items():
            card.source(port, frames, timing=1e9)
        card.run()
        for port, frames in sent.items():
            assert Counter(frame.data for frame in card.received(port ^ 1)) == Counter(frames)
            assert links.counters(port).balance == 0
