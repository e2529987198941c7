"""The emulator's loads for study and bench, at their smallest: they give what they say."""

from __future__ import annotations

import math

import pytest

from headrace.emulator.wiring import next_hops
from headrace.errors import HeadraceError
from headrace.evaluate.loads import emulator, emulator_delay, emulator_fabrics
from headrace.evaluate.study.emulator_traffic_published import GRID_MBIT_S, by_hops


def test_the_streams_of_the_table_have_its_hops() -> None:
    places, reach = emulator.table_places()
    pairs = [(a, b) for a in range(32) for b in range(a + 1, 32) if math.dist(places[a], places[b]) <= reach]
    assert all(sum(node in pair for pair in pairs) == 4 for node in range(32))
    tables = next_hops(32, pairs)
    for (source, destination), (_, hops) in GRID_MBIT_S.items():
        here, count = source - 1, 0
        while here != destination - 1:
            here, count = tables[here][destination - 1], count + 1
        assert count == hops, (source, destination)
    assert by_hops(GRID_MBIT_S)[1] == 21.5


@pytest.mark.live
def test_bandwidth_is_measured_between_and_within_nodes_and_of_messages() -> None:
    points = emulator.single_streams(6, (1_400, 1_400), 0.2)  # what came of the first isn't the second's
    assert [point.payload for point in points] == [1_400, 1_400]
    for point in points:
        assert min(point.between_bps, point.within_bps, point.messages_bps) > 0
        assert 0 <= point.within_lost < 1


@pytest.mark.live
def test_streams_beside_each_other_lose_nothing() -> None:
    found = emulator.five_streams(6, 0.2)
    assert [each.hops for each in found] == [1] * 5
    assert all(each.sent == each.received and not each.lost and each.bps > 0 for each in found)


@pytest.mark.live
@pytest.mark.parametrize("own", [True, False])
def test_telemetry_over_all_links_comes(own: bool) -> None:
    found = emulator.scale(6, 2, 2, own=own)
    assert (found.links, found.streams, found.sent, found.lost) == (6, 12, 24, 0)
    assert found.processes == 3 + 6 * (1 + (5 if own else 1))
    assert found.built_s > 0 and found.script_s > 0


@pytest.mark.live
def test_two_nodes_carry_connections_pings_and_datagrams() -> None:
    with emulator_fabrics.two_nodes("software") as emulation:
        pair = emulator_fabrics.pair(emulation, "software", 1.0, 3)
        assert pair.tcp_bps > 1e6 and 0 < pair.round_trip_s < 1
        assert emulator_fabrics.cut(emulation, 256, 1.0) > 1e6
        plain, filtered = (
            emulator_fabrics.datagrams(emulation, "software", 256, way, 0.3).bps for way in ("none", "NumPy")
        )
        assert min(plain, filtered) > 0


@pytest.mark.live
def test_datagrams_of_no_filter_are_refused_with_what_their_sender_says() -> None:
    with (
        emulator_fabrics.two_nodes("software") as emulation,
        pytest.raises(HeadraceError, match="datagrams from n1 to n2: KeyError: 'C'"),
    ):
        emulator_fabrics.datagrams(emulation, "software", 256, "C", 0.1)


@pytest.mark.live
def test_six_nodes_of_three_connections_stream_at_the_same_time() -> None:
    found = emulator_fabrics.six_nodes("software", 0.2, 2)
    assert [(each.source, each.destination) for each in found] == list(emulator.FIVE[6])
    assert all(each.bps > 0 and not each.lost for each in found)


@pytest.mark.live
def test_round_trips_and_frames_of_the_delay_line_are_measured() -> None:
    found = emulator_delay.delayed(0.002, 5)
    fastest, mean, slowest = found.round_trip_s
    assert 0.004 <= fastest <= mean <= slowest
    assert 0 < found.late_median_s <= found.late_p99_s <= found.late_max_s
    flood = emulator_delay.flooded(1514, 0.2)
    assert flood.per_second > 0 and 0 <= flood.missed < 1
