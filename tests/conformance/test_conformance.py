"""os-ken's tests of OpenFlow 1.3 switches: that they are run as they are meant, with Open vSwitch as the switch."""

from __future__ import annotations

import re
import socket
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from headrace.errors import HeadraceError
from headrace.evaluate.conformance import counts, openflow, runner
from headrace.evaluate.conformance.cases import Case, PacketIn, TableMiss, Throughput, load
from headrace.evaluate.conformance.openflow import Connection
from headrace.evaluate.conformance.ovs_device import OvsDevice

CASES = load()
# What Open vSwitch can't, or does otherwise.
OVS_CANNOT = {
    "IPv6 extension headers": ("match/39_IPV6_EXTHDR", "OFPBMC_BAD_FIELD"),
    "copying of TTLs": ("_COPY_TTL_", "OFPBAC_BAD_TYPE"),
    "setting of read-only fields": ("action/25_SET_FIELD/", "OFPBAC_BAD_SET_ARGUMENT"),
    "a new tag with the VLAN of the one below": ("action/17_PUSH_VLAN_multiple", "802_1AD vlan 0 instead of 100"),
    "a new label of 0, and TTL 0 over ARP": ("action/19_PUSH_MPLS", "MPLS "),
    "buckets by addresses of Ethernet and ARP": ("group/01_SELECT_", "port 2 gives 0 kbit/s"),
    "DSCP remark": ("meter/02_DSCP_REMARK", "OFPMMFC_BAD_BAND"),
}


@pytest.fixture(scope="module")
def ovs() -> Iterator[OvsDevice]:
    with OvsDevice() as device:
        yield device


def some(kind: type, file: str = "match/03_ETH_DST") -> Case:
    """A test with this kind of end."""
    return next(case for case in CASES if case.file == file and isinstance(case.expected, kind))


def test_all_991_tests_are_read() -> None:
    assert Counter(case.kind for case in CASES) == {"match": 714, "action": 226, "meter": 36, "group": 15}
    assert sum(case.needs_pbb for case in CASES) == 207
    assert sum(isinstance(case.expected, Throughput) for case in CASES) == 51


@pytest.mark.parametrize(
    ("kinds", "counts"),
    [
        (("match", "action"), {"match": (540, 558), "action": (154, 175), "PBB": (0, 207), "all": (694, 940)}),
        (("group",), {"group": (9, 15), "all": (9, 15)}),
        (("meter",), {"meter": (3, 6), "all": (3, 6)}),
    ],
    ids=["packets", "groups", "meters"],
)
def test_open_vswitch_passes_all_but_what_it_is_known_not_to_do(
    ovs: OvsDevice, kinds: tuple[str, ...], counts: dict[str, tuple[int, int]]
) -> None:
    """Of the loads those of less than 200 packets a second; its meters let a second's worth through at once."""
    cases = [case for case in CASES if case.kind in kinds]
    slow = [c for c in cases if not isinstance(c.expected, Throughput) or c.expected.pktps < 200]
    report = runner.run(ovs, slow, max_packets=1500 if kinds == ("group",) else None)
    unexplained = [
        str(verdict)
        for verdict in report.failures
        if not any(file in verdict.file and why in str(verdict.reason) for file, why in OVS_CANNOT.values())
        and not (verdict.needs_pbb and re.search("OFPBAC_BAD_TYPE|OFPBMC_BAD_FIELD", str(verdict.reason)))
    ]
    assert not unexplained
    assert report.counts() == counts


class Wrong:
    """A switch that does one thing wrong to what comes out of it."""

    def __init__(self, device: OvsDevice, kind: str) -> None:
        self.name, self.connect, self.send, self.settle = kind, device.connect, device.send, device.settle
        self.enforce, self._received = device.enforce, device.received

    def received(self, port: int) -> list[bytes]:
        frames = self._received(port)
        if self.name == "loses":
            return []
        if self.name == "doubles":
            return frames * 2
        if self.name == "changes":
            return [bytes([frame[0] ^ 1]) + frame[1:] for frame in frames]
        return [*frames, b"\0" * 60] if port == 3 else frames


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("loses", "the packet goes to nowhere instead of port 2"),
        ("doubles", "the packet goes to port 2, port 2 instead of port 2"),
        ("changes", "the packet has Ethernet dst '23:22:22:22:22:22' instead of '22:22:22:22:22:22'"),
        ("leaks", "the packet goes to port 2, port 3 instead of port 2"),
    ],
)
def test_a_switch_that_does_otherwise_fails_with_the_reason(ovs: OvsDevice, kind: str, reason: str) -> None:
    case = CASES[0]
    (verdict,) = runner.run(Wrong(ovs, kind), [case]).verdicts
    assert str(verdict.reason).startswith(reason)


def test_what_is_for_the_controller_or_for_nobody_must_not_come_out(ovs: OvsDevice) -> None:
    to_controller, missing = some(PacketIn), some(TableMiss)
    swapped = [
        replace(to_controller, expected=missing.expected, ingress=to_controller.ingress),
        replace(missing, expected=to_controller.expected),
    ]
    reasons = [str(verdict.reason) for verdict in runner.run(ovs, swapped).verdicts]
    assert reasons == [
        "no flow matches, but the packet goes to the controller",
        "the packet goes to nowhere instead of the controller",
    ]


def test_a_rate_is_weighed_to_a_tenth(ovs: OvsDevice) -> None:
    case = some(Throughput, "group/00_ALL")
    load = case.expected
    assert isinstance(load, Throughput)
    wanted = [2051, 2051 / 1.09, 2051 / 0.89, 2051 / 1.12]
    cases = [replace(case, expected=replace(load, rates=(replace(load.rates[0], kbps=kbps),))) for kbps in wanted]
    passed = [verdict.reason is None for verdict in runner.run(ovs, cases, max_packets=500).verdicts]
    assert passed == [True, True, False, False]


def test_the_report_says_what_failed_in_words_and_in_json(ovs: OvsDevice) -> None:
    report = runner.run(ovs, [some(PacketIn), *(case for case in CASES if case.file == "action/11_COPY_TTL_OUT")][:2])
    counts, failure = str(report).split("\n")
    assert counts == f"{ovs.name} passes match 1 of 1, action 0 of 1, all 1 of 2"
    assert failure.startswith("action/11_COPY_TTL_OUT: ethernet/mpls(ttl=64)") and "OFPBAC_BAD_TYPE" in failure
    found = report.to_json()
    assert found["tests"]["all"] == {"passed": 1, "of": 2}
    assert [failure["file"] for failure in found["failures"]] == ["action/11_COPY_TTL_OUT"]


def test_a_silent_or_a_strange_switch_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openflow, "PATIENCE_S", 0.2)
    for said, message in (
        (b"", "has not answered for 0 s"),
        (bytes.fromhex("0100000800000001"), "speaks OpenFlow of version 0x1 at most"),
        (bytes.fromhex("0400000700000001"), "a message of 7 bytes"),
        (None, "has closed the connection"),
    ):
        ours, theirs = socket.socketpair()
        if said is None:
            theirs.shutdown(socket.SHUT_WR)
        else:
            theirs.sendall(said)
        with pytest.raises(HeadraceError, match=message):
            Connection(ours)
        theirs.close()
        ours.close()


@pytest.mark.parametrize("switch", counts.SWITCHES)
def test_parts_of_the_tests_add_up(switch: str) -> None:
    parts = [counts.run(switch, part, 30, counts.SAMPLE) for part in (0, 29)]
    both = counts.total(parts)
    assert [part.tests for part in parts] == [3, 2]
    assert (both.tests, both.passed + both.failures.total()) == (5, 5)
    assert set(both.failures) <= {"IPV6_EXTHDR", "TUNNEL_ID"}
