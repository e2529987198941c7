"""The captures that the demo filters: real protocols, whole frames, in order of time."""

import shutil
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.utils import RawPcapReader

from headrace.errors import HeadraceError
from headrace.net import bpf
from headrace.traffic import live, realistic_capture

PROTOCOLS = [
    "tcp port 80",
    "tcp port 5201",
    "udp port 53",
    "icmp",
    "icmp6",
    "arp",
    "vlan 10",
    "ip6",
    "ip[6:2] & 0x1fff != 0",
]


def frames(path: Path) -> list[tuple[float, bytes]]:
    with RawPcapReader(str(path)) as reader:
        return [(meta.sec + meta.usec * 1e-6, data) for data, meta in reader]


def missing(path: Path) -> list[str]:
    packets = [(data, len(data)) for _, data in frames(path)]
    return [expression for expression in PROTOCOLS if not any(bpf.run_many(bpf.compile(expression), packets))]


def test_made_traffic_holds_every_protocol_in_order_of_time(tmp_path: Path) -> None:
    traffic = realistic_capture(tmp_path / "made.pcap", packets=20_000, method="made")
    times = [time for time, _ in frames(traffic.path)]
    assert traffic.packets == len(times) == 20_000
    assert times == sorted(times)
    assert missing(traffic.path) == []


def test_made_traffic_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    one, two, other = (
        realistic_capture(tmp_path / name, packets=500, seed=seed, method="made").path.read_bytes()
        for name, seed in (("one", 1), ("two", 1), ("other", 2))
    )
    assert one == two != other


def test_made_tcp_has_right_checksums(tmp_path: Path) -> None:
    path = realistic_capture(tmp_path / "made.pcap", packets=500, method="made").path
    checked = 0
    for _, data in frames(path):
        frame = Ether(data)
        if IP in frame and TCP in frame:
            given = frame[IP].chksum, frame[TCP].chksum
            del frame[IP].chksum, frame[TCP].chksum
            again = Ether(bytes(frame))
            assert (again[IP].chksum, again[TCP].chksum) == given
            checked += 1
    assert checked > 100


@pytest.mark.live
@pytest.mark.skipif(live.why_not() is not None, reason=str(live.why_not()))
def test_live_traffic_comes_from_real_programs_on_a_wire(tmp_path: Path) -> None:
    namespaces = len(list(Path("/run/netns").glob("*"))) if Path("/run/netns").exists() else 0
    traffic = realistic_capture(tmp_path / "live.pcap", packets=20_000, method="live")
    assert traffic.packets == 20_000
    assert missing(traffic.path) == []
    assert max(len(data) for _, data in frames(traffic.path)) <= 1518  # no super-packets from offloads
    left = len(list(Path("/run/netns").glob("*"))) if Path("/run/netns").exists() else 0
    assert left == namespaces


def test_made_traffic_says_why_it_is_not_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _tool: None)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    traffic = realistic_capture(tmp_path / "auto.pcap", packets=100)
    assert traffic.method == "made"
    assert "tcpdump not installed" in traffic.describe()


@pytest.mark.parametrize("method", ["made", "auto"])
def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, method: str) -> None:
    with pytest.raises(HeadraceError, match=r"missing/out\.pcap: No such file or directory"):
        realistic_capture(tmp_path / "missing" / "out.pcap", packets=10, method=method)  # type: ignore[arg-type]
