"""adaptive_batching: its law on a model of H2S and hosts of all kinds, and the RTL against the law.

99 of 100 packets reach software within the target, whatever the traffic does, if the target is at least 3 times what
the host needs for a message; and batches are nearly as large as with the best fixed timeout that does the same, found
by trying all of them on the same traffic: what an oracle would set.
"""

import pytest
from bridge.bench_adaptive_batching_model import (
    Batching,
    HostModel,
    Law,
    bursts,
    oracle,
    poisson,
    run,
    steps,
    traffic,
    triangle,
)
from bridge.building import simulate

US, MS = 1000, 1_000_000
OF_ORACLE = 0.85  # of its mean batch at least, when that is 5 packets or more; of smaller ones at least one packet less
MOST = Batching(False, 65536, 0)

# Hosts: name, ns a message, targets, lowest and highest rate in bit/s that they can handle with large batches.
PRESENT = ("present-day", 1 * US, (20 * US, 200 * US, 5 * MS), 1e9, 9e9)
MIDDLE = ("50 us a message", 50 * US, (200 * US, 10 * MS), 0.2e9, 2e9)
SEED = ("EmbedNet's soft core", 800 * US, (5 * MS, 10 * MS), 20e6, 40e6)

KINDS = ("lonely", "constant low", "constant high", "random", "bursts", "two triangle waves", "steps")


def load(kind: str, target: int, end: int, low: float, high: float) -> list[tuple[int, int]]:
    """Packets of a kind of traffic up to the time `end`."""
    match kind:
        case "lonely":
            return traffic([(0, 1024 * 8e9 / (3 * target))], 1024, end)
        case "constant low":
            return traffic([(0, low)], 1024, end)
        case "constant high":
            return traffic([(0, high)], 1024, end)
        case "random":
            return poisson(low, 512, end)
        case "bursts":
            return bursts(1024, 10, 2 * target + 777, end)
        case "two triangle waves":
            return traffic(triangle(low, high, (40 * target, 17 * target), end), 1024, end)
        case "steps":
            return steps(low / 20, high / 2, 20 * target, 1024, end)
    raise ValueError(kind)


def duration(target: int, rate: float) -> int:
    """Long enough for the law to settle, short enough for the test: ns."""
    return min(200 * target, max(20_000 * 8192 * 10**9 // int(rate), 40 * target))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("host", "target"), [(host, target) for host in (PRESENT, MIDDLE, SEED) for target in host[2]], ids=str
)
def test_99_of_100_packets_keep_the_target(
    host: tuple[str, int, tuple[int, ...], float, float], target: int, kind: str
) -> None:
    _, message_ns, _, low, high = host
    packets = load(kind, target, duration(target, high), low, high)
    since = packets[-1][0] // 5
    # A byte costs nothing, or a third of the host's time at the highest rate.
    byte_ns = 8e9 / high / 3
    for model in (HostModel(message_ns), HostModel(message_ns, byte_ns)):
        result = run(packets, model, Law(target, MOST))
        assert result.percentile(0.99, since) <= target, model


@pytest.mark.parametrize("kind", ["constant low", "random", "two triangle waves", "steps"])
@pytest.mark.parametrize(
    ("host", "target"), [(PRESENT, 20 * US), (MIDDLE, 200 * US), (SEED, 5 * MS), (SEED, 10 * MS)], ids=str
)
def test_batches_are_nearly_as_large_as_an_oracle_makes_them(
    host: tuple[str, int, tuple[int, ...], float, float], target: int, kind: str
) -> None:
    _, message_ns, _, low, high = host
    packets = load(kind, target, duration(target, high) // 2, low, high)
    since = packets[-1][0] // 5
    model = HostModel(message_ns)
    best = oracle(packets, model, target, since)
    mine = run(packets, model, Law(target, MOST)).mean_batch(since)
    assert mine >= min(OF_ORACLE * best, max(best - 1, 1))


@pytest.mark.parametrize("slow_every", [5, 90])
def test_a_host_that_is_slow_now_and_then_is_remembered_or_forgotten(slow_every: int) -> None:
    packets = traffic([(0, 30e6)], 1024, 3000 * MS)
    result = run(packets, HostModel(800 * US, slow_every=slow_every), Law(10 * MS, MOST))
    assert result.percentile(0.99, 600 * MS) <= 10 * MS
    assert result.mean_batch(600 * MS) >= 15


def test_lonely_packets_wait_for_nobody() -> None:
    packets = traffic([(0, 1024 * 8e9 / (50 * MS))], 1024, 3000 * MS)
    result = run(packets, HostModel(800 * US), Law(10 * MS, MOST))
    assert result.percentile(0.99, 600 * MS) <= 1 * MS


@pytest.mark.parametrize("message_ns", [50 * US, 800 * US])
def test_a_target_that_cannot_be_kept_does_not_bury_the_host_in_messages(message_ns: int) -> None:
    target = message_ns // 2
    packets = traffic([(0, 8192 * 10e9 / message_ns)], 1024, 400 * message_ns)
    result = run(packets, HostModel(message_ns), Law(target, MOST))
    assert result.percentile(0.99, packets[-1][0] // 4) <= 4 * message_ns


def test_adaptive_batching() -> None:
    simulate("adaptive_batching")
