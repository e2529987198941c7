"""Live links: what a card gets from network interfaces, and gives to them, is what was sent."""

from __future__ import annotations

import itertools
import os
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest
from network import add_pair, host_behind, ip, numbered, own_network, received, send
from patience import HANG_S, until
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import Ether

from headrace.card import CaptureError, Card, CardError
from headrace.net.port_link import port_link

Open = Callable[..., Card]
LOOP = Path(__file__).parent / "cards" / "loop"
COPIES = ["iface", "xdp"]
MAC = "02:00:00:00:00:01"

pytestmark = pytest.mark.live


@pytest.fixture(autouse=True)
def pair() -> Iterator[None]:
    """card0 and peer0, with a cable between them."""
    with own_network():
        add_pair("card0", "peer0")
        yield


@pytest.fixture
def later() -> Iterator[Callable[..., None]]:
    """Does something beside the card's run, a moment from now."""
    threads: list[threading.Thread] = []

    def start(action: Callable[[], object], after: float = 0.1) -> None:
        threads.append(threading.Thread(target=lambda: (time.sleep(after), action())))
        threads[-1].start()

    yield start
    for thread in threads:
        thread.join()


def attach(card: Card, link: str, **options: object) -> None:
    card.source(0, link, **options)  # type: ignore[arg-type]
    card.sink(1, "memory")


def come(card: Card, pieces: int) -> None:
    """Waits until the link at port 0 has so many packets for the card: the kernel may take its time."""
    until(lambda: card.stats().ports[0].rx_waiting >= pieces, f"{pieces} packets")


def packet_socket(interface: str) -> socket.socket:
    """Gets what an interface receives."""
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    made.settimeout(HANG_S)
    made.bind((interface, 3))  # ETH_P_ALL
    return made


def take(link: socket.socket, count: int) -> list[bytes]:
    """The next frames that came in, of those that tests send."""
    came = (link.recvfrom(1 << 16) for _ in itertools.count())
    ours = (frame for frame, at in came if at[2] != socket.PACKET_OUTGOING and frame.startswith(b"\x02" * 12))
    return list(itertools.islice(ours, count))


def kernel(card: Card) -> tuple[int, int]:
    """Packets that the link at port 0 has for the card, and those that it lost."""
    port = card.stats().ports[0]
    return port.rx_waiting, port.rx_missed


def finish(card: Card) -> None:
    """Brings what the links have for the card through."""
    card.stop_sources()
    assert card.run().idle


@pytest.mark.parametrize("kind", COPIES)
def test_every_packet_comes_as_it_was_sent_and_in_order(loop: Open, later: Callable[..., None], kind: str) -> None:
    card, packets = loop(), numbered(5000)
    attach(card, f"{kind}:card0")
    began = time.time_ns()
    later(lambda: send("peer0", packets, "card0"))
    assert card.run(packets=len(packets)).reason == "packets"
    finish(card)
    frames = card.received(1)
    assert [frame.data for frame in frames] == packets
    times = [frame.timestamp_ns for frame in frames]
    assert times == sorted(times) and began <= times[0] and times[-1] <= time.time_ns()
    assert times[-1] - times[0] > 100_000_000  # it took longer to send them
    assert card.stats().ports[0].rx_missed == 0


@pytest.mark.parametrize("kind", COPIES)
def test_the_cards_clock_is_the_time_of_day_and_idle_time_is_skipped(loop: Open, kind: str) -> None:
    card = loop()
    attach(card, f"{kind}:card0")
    times, sent = [], []
    for pause in (0, 0.5):
        time.sleep(pause)
        sent.append(time.time_ns())
        send("peer0", numbered(1))
        times.append(card.run(packets=1).stats.time_ns)
        sent.append(time.time_ns())
    assert sent[0] < times[0] < sent[1] and sent[2] < times[1] < sent[3]
    assert card.stats().cycles > 0.5 * card.clock_hz > 5000 > card.stats().evaluated_cycles


@pytest.mark.parametrize("kind", [*COPIES, "tap"])
def test_a_waiting_run_needs_no_processor_and_goes_on_with_a_packet(loop: Open, kind: str) -> None:
    card = loop()
    attach(card, f"{kind}:{'tap0' if kind == 'tap' else 'card0'}")
    used = time.process_time()
    assert card.run(wall_s=1).reason == "wall"
    assert time.process_time() - used < 0.5  # not of the wall
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind(("tap0" if kind == "tap" else "peer0", 0))
        for packet in numbered(20):
            sender.send(packet)
            assert card.run(packets=1).reason == "packets"


def test_a_copy_leaves_the_packets_to_their_owner_and_xdp_takes_them(loop: Open, later: Callable[..., None]) -> None:
    for kind, left in (("iface", 100), ("xdp", 0)):
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5)) as owner:
            owner.bind(("card0", 0x88B5))
            owner.setblocking(False)
            card = loop()
            attach(card, f"{kind}:card0")
            send("peer0", numbered(100))
            card.run(packets=100)
            card.close()
            got = 0
            with pytest.raises(BlockingIOError):
                while owner.recv(2000):
                    got += 1
            assert got == left


@pytest.mark.parametrize("kind", ["iface", "xdp", "tap"])
def test_a_run_with_a_limit_of_card_time_ends_while_its_link_is_silent(loop: Open, kind: str) -> None:
    card = loop()
    attach(card, f"{kind}:{'tap0' if kind == 'tap' else 'card0'}")
    card.run(wall_s=0.1)
    began, start = time.monotonic(), card.stats().cycles
    assert card.run(seconds=0.25).reason == "cycles"
    assert card.stats().cycles - start == round(0.25 * card.clock_hz)
    assert time.monotonic() - began > 0.24 and card.stats().time_ns < time.time_ns()


@pytest.mark.parametrize(("direction", "expected"), [("in", [0]), ("out", [1]), ("inout", [0, 1])])
def test_the_direction_can_be_chosen(loop: Open, direction: str, expected: list[int]) -> None:
    card = loop()
    attach(card, f"iface:card0,direction={direction}")
    frames = numbered(2)
    send("peer0", frames[:1])
    send("card0", frames[1:])
    come(card, 2)
    finish(card)
    assert [frame.data for frame in card.received(1)] == [frames[n] for n in expected]


def test_what_the_kernel_had_no_room_for_is_counted(loop: Open, tmp_path: Path) -> None:
    """Nobody takes the packets while they are sent, and there is room for a fraction of them."""
    card = loop()
    attach(card, "iface:card0,buffer=1")
    card.sink(1, f"pcap:{tmp_path / 'out.pcapng'}")
    send("peer0", numbered(3000, size=1000))
    until(lambda: sum(kernel(card)) == 3000, "all packets")
    finish(card)
    port = card.stats().ports[0]
    assert port.rx_missed > 1000 and port.rx_frames + port.rx_missed == 3000
    card.source(0, "null")
    assert card.stats().ports[0].rx_missed == port.rx_missed
    card.close()
    isb_ifdrop = struct.pack("<HHQ", 5, 8, port.rx_missed)
    assert isb_ifdrop in (tmp_path / "out.pcapng").read_bytes()


@pytest.mark.parametrize(
    ("settings", "buffer_mib", "timeout_ms"),
    [("", 64, 32), (",buffer=8", 8, 100), (",buffer=512", 512, 10), (",timeout=7", 64, 7)],
)
def test_the_ring_holds_many_seconds_of_few_packets(
    loop: Open, settings: str, buffer_mib: int, timeout_ms: int
) -> None:
    """Of its blocks each is handed over after the timeout, be it nearly empty: 256 of them after 8 s."""
    attach(loop(), f"iface:card0{settings}")
    told = subprocess.run(["ss", "-0", "-e"], capture_output=True, text=True, check=True).stdout
    ring = re.search(r"ring_rx\(blk_size:(\d+),blk_nr:(\d+),frm_size:\d+,frm_nr:\d+,tmo:(\d+)", told)
    assert ring is not None, told
    size, blocks, timeout = map(int, ring.groups())
    assert (size, size * blocks >> 20, timeout) == (256 << 10, buffer_mib, timeout_ms)


@pytest.mark.parametrize("kind", COPIES)
@pytest.mark.parametrize(("end", "reason"), [("del", "gone|disappeared"), ("set", "down")])
def test_an_interface_that_vanishes_ends_the_run_with_all_that_came_before(
    loop: Open, later: Callable[..., None], kind: str, end: str, reason: str
) -> None:
    card, packets = loop(), numbered(500)
    attach(card, f"{kind}:card0")

    def send_and_end() -> None:
        send("peer0", packets, "card0")
        ip("link", *(["del", "card0"] if end == "del" else ["set", "card0", "down"]))

    later(send_and_end)
    with pytest.raises(CaptureError, match=rf"^{kind}:card0: .*({reason})") as error:
        card.run()
    assert error.value.exit_code == 1
    assert [frame.data for frame in card.received(1)] == packets
    assert card.run().idle


@pytest.mark.parametrize("kind", COPIES)
def test_ports_send_by_interfaces_and_do_not_receive_what_they_sent(loop: Open, kind: str) -> None:
    add_pair("card1", "peer1")
    card, ways = loop(), {"peer0": numbered(300), "peer1": numbered(200, 1514 - 6)}
    for port, name in enumerate(("card0", "card1")):
        link = port_link(f"{kind}:{name}").link
        card.source(port, link)
        card.sink(port, link)
    with ExitStack() as stack:
        taken = [stack.enter_context(packet_socket(name)) for name in ("peer1", "peer0")]
        for (name, frames), receiver in zip(ways.items(), ("card0", "card1"), strict=True):
            send(name, frames, receiver)
        assert card.run(packets=500).reason == "packets"
        finish(card)
        for socket_, frames in zip(taken, ways.values(), strict=True):
            assert take(socket_, len(frames)) == frames
    assert [port.rx_frames for port in card.stats().ports[:2]] == [300, 200]


def test_what_an_interface_cannot_send_is_lost(loop: Open) -> None:
    """Frames longer than its MTU, and those that come while it is down; a short one is padded."""
    card = loop()
    card.sink(1, "iface:card0")
    with packet_socket("peer0") as taken:
        short, small, large, last = numbered(1)[0][:13], numbered(1)[0], numbered(1, 1600)[0], numbered(2)[1]
        card.source(0, [short, large, small])
        card.run()
        assert take(taken, 2) == [short.ljust(60, b"\0"), small]
        ip("link", "set", "card0", "down")
        card.source(0, [small])
        card.run()
        ip("link", "set", "card0", "up")
        card.source(0, [last])
        card.run()
        assert take(taken, 1) == [last]


@pytest.mark.parametrize("kind", COPIES)
def test_sources_that_are_stopped_give_what_they_have(loop: Open, kind: str) -> None:
    card, packets = loop(), numbered(1000)
    attach(card, f"{kind}:card0")
    send("peer0", packets, "card0")
    come(card, len(packets))
    card.stop_sources()
    send("peer0", packets, "card0")
    assert card.run().idle
    assert [frame.data for frame in card.received(1)] == packets


def sized(sizes: list[int]) -> list[bytes]:
    """Frames of these sizes, all different in all their bytes."""
    return [numbered(1)[0][:14] + random.Random(n).randbytes(size - 14) for n, size in enumerate(sizes)]


@pytest.mark.parametrize("kind", COPIES)
@pytest.mark.parametrize(("mtu", "sizes"), [
    (1500, [60, 1514]),
    (9000, [1791, 1792, 1793, 3583, 3584, 3585, 3839, 3840, 3841, 9014, 60]),
    (65521, [65535, 60, 40_000, 65535]),
])  # fmt: skip
def test_jumbo_frames_come_as_they_were_sent(loop: Open, kind: str, mtu: int, sizes: list[int]) -> None:
    """Those around the sizes of the pieces in which XDP hands them over, and the longest that there are."""
    for name in ("card0", "peer0"):
        ip("link", "set", name, "mtu", str(mtu))
    card, packets = loop(), sized(sizes * 20)
    attach(card, f"{kind}:card0")
    send("peer0", packets, "card0")
    assert card.run(packets=len(packets)).reason == "packets"
    card.stop_sources()
    card.run()
    assert [frame.data for frame in card.received(1)] == packets
    assert card.stats().ports[0].rx_missed == 0


@pytest.mark.parametrize("kind", [*COPIES, "tap"])
def test_what_a_link_has_for_the_card_is_known(loop: Open, kind: str) -> None:
    card, name = loop(), "tap0" if kind == "tap" else "card0"
    attach(card, f"{kind}:{name}")
    send("tap0" if kind == "tap" else "peer0", numbered(500), None if kind == "tap" else "card0")
    if kind != "tap":
        come(card, 500)
    card.stop_sources()
    assert card.stats().ports[0].rx_waiting == 500
    assert card.run().idle
    assert (card.stats().ports[0].rx_waiting, card.stats().ports[0].rx_frames) == (0, 500)


def test_the_memory_for_packets_that_xdp_hands_over_can_be_chosen(loop: Open) -> None:
    """2 KB each; the kernel takes the rest of them away, and that is counted."""
    card = loop()
    attach(card, "xdp:card0,buffer=1")
    send("peer0", numbered(2000), "card0")
    until(lambda: card.stats().ports[0].rx_missed == 2000 - 512, "what is missed")
    card.stop_sources()
    assert card.run().idle
    assert card.stats().ports[0].rx_frames == 512


def test_a_rate_holds_live_packets_back(loop: Open) -> None:
    """84 byte times at 1 Mb/s are 672 us."""
    card = loop()
    card.source(0, "tap:tap0", timing=1e6)
    card.sink(1, "memory", timestamps="card")
    send("tap0", [bytes(60)] * 10)
    finish(card)
    times = [frame.timestamp_ns for frame in card.received(1)]
    assert [after - before for before, after in pairwise(times)] == pytest.approx([672_000] * 9, abs=4)


def test_several_live_sources_at_once(loop: Open, later: Callable[..., None]) -> None:
    add_pair("card1", "peer1")
    card = loop()
    for port, link in ((0, "iface:card0"), (1, "xdp:card1")):
        card.source(port, link)
        card.sink(1 - port, "memory")
    first, second = numbered(2000), numbered(2000, size=100)
    later(lambda: send("peer0", first, "card0"))
    later(lambda: send("peer1", second, "card1"))
    assert card.run(packets=4000).reason == "packets"
    finish(card)
    assert [frame.data for frame in card.received(1)] == first
    assert [frame.data for frame in card.received(0)] == second


def test_the_run_ends_when_one_of_several_live_sources_breaks_off(loop: Open, later: Callable[..., None]) -> None:
    add_pair("card1", "peer1")
    card = loop()
    attach(card, "iface:card0")
    card.source(1, "iface:card1")
    later(lambda: ip("link", "del", "card1"))
    with pytest.raises(CaptureError, match="^iface:card1: "):
        card.run()
    send("peer0", numbered(1))
    assert card.run(packets=1).reason == "packets"


def test_a_source_can_be_limited_to_a_number_of_packets(loop: Open) -> None:
    card, packets = loop(), numbered(50)
    attach(card, "iface:card0", packets=20)
    send("peer0", packets, "card0")
    assert card.run().idle
    assert [frame.data for frame in card.received(1)] == packets[:20]


def test_a_sink_can_be_limited_to_a_number_of_packets(loop: Open) -> None:
    card = loop()
    card.source(0, "gen:size=100")
    card.sink(1, "memory", packets=20)
    assert card.run().reason == "packets"
    assert len(card.received(1)) == 20


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("iface:absent", "^iface:absent: no such interface$"),
        ("xdp:absent", "^xdp:absent: no such interface$"),
        ("iface:", "an interface's name has 1 to 15 letters"),
        ("iface:lo", "^iface:lo: the interface is down$"),
        ("xdp:lo", "^xdp:lo: the interface is down$"),
        ("iface:card0,direction=up", "direction=up: must be in, out or inout"),
        ("iface:card0,promiscuous=1", "promiscuous=1: must be yes or no"),
        ("iface:card0,queue=1", "unknown key 'queue'"),
        ("xdp:card0,buffer=0", "buffer=0: must be a number from 1"),
        ("xdp:card0,queue=7", "queue=7: card0 has receive queues 0 to 0"),
        ("xdp:card0,program=/absent.o", "^xdp:card0: /absent.o: No such file"),
        ("xdp:card0,program=/etc/passwd", "^xdp:card0: /etc/passwd: "),
        ("tap:card0", "^tap:card0: "),
        ("tap:tap0,mtu=9", "mtu=9: must be a number from 68"),
    ],
)
def test_links_that_can_not_be_opened_say_why(loop: Open, link: str, message: str) -> None:
    with pytest.raises(CardError, match=message) as error:
        loop().source(0, link)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("iface:card0", "iface:card0: not permitted: to capture takes root or CAP_NET_RAW"),
        ("xdp:card0", "xdp:card0: not permitted: XDP takes root, or CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW"),
        ("tap:tap0", "tap:tap0: not permitted: a TAP device takes root or CAP_NET_ADMIN"),
    ],
)
def test_missing_rights_are_named(loop: Open, link: str, message: str) -> None:
    loop()
    script = f"from headrace.card import Card\nCard.open({str(LOOP)!r}).source(0, {link!r})"
    command = ["setpriv", "--bounding-set", "-all", sys.executable, "-c", script]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stderr.splitlines()[-1].endswith(f"CardError: {message}")


# XDP


def programs() -> str:
    return subprocess.run(["ip", "link", "show", "card0"], capture_output=True, text=True, check=True).stdout


def test_the_program_goes_with_the_card(loop: Open) -> None:
    assert "xdp" not in programs()
    card = loop()
    attach(card, "xdp:card0")
    assert "xdp" in programs()
    card.close()
    assert "xdp" not in programs()


def test_the_program_goes_with_a_process_that_is_killed(loop: Open) -> None:
    loop()
    script = f"""
import time
from headrace.card import Card
card = Card.open({str(LOOP)!r})
card.source(0, "xdp:card0")
print(flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"\n"
        assert "xdp" in programs()
        child.kill()
    until(lambda: "xdp" not in programs(), "its sockets to be taken down")


def test_all_receive_queues_are_served_or_one(loop: Open) -> None:
    ip("link", "add", "card1", "numrxqueues", "2", "numtxqueues", "2", "type", "veth", "peer", "name", "peer1")
    for name in ("card1", "peer1"):
        ip("link", "set", name, "up")
    flows = [
        bytes(Ether(src=MAC, dst=MAC) / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1000 + n) / b"hi")
        for n in range(200)
    ]
    card, found, packets = loop(), [], 0
    for queues in ("", ",queue=0", ",queue=1"):
        card.source(0, "null")
        attach(card, f"xdp:card1{queues}")
        send("peer1", flows, "card1")
        packets += 200
        until(lambda all_=packets: received("card1") == all_, "all packets")
        finish(card)
        found.append([frame.data for frame in card.received(1)])
        card.close_files()
    both, first, second = found
    assert first and second and sorted(first + second) == sorted(both) == sorted(flows)
    with pytest.raises(CardError, match="queue=2: card1 has receive queues 0 to 1"):
        card.source(0, "xdp:card1,queue=2")


def test_what_belongs_to_another_program_is_left_alone(loop: Open) -> None:
    ip("link", "add", "card1", "numrxqueues", "2", "type", "veth", "peer", "name", "peer1")
    for name in ("card1", "peer1"):
        ip("link", "set", name, "up")
    first, second = loop(), loop()
    attach(first, "xdp:card1,queue=0")
    with pytest.raises(CardError, match="^xdp:card1: another program has queue 0$"):
        second.source(0, "xdp:card1,queue=0")
    with pytest.raises(CardError, match="^xdp:card1: another XDP program is attached to this interface$"):
        second.source(0, "xdp:card1,queue=1")
    send("peer1", numbered(10))
    first.run(packets=10)
    finish(first)
    assert len(first.received(1)) == 10


PICK_EVEN = """
#include <linux/bpf.h>
#define SECTION(name) __attribute__((section(name), used))
struct {
  int (*type)[BPF_MAP_TYPE_XSKMAP];
  int (*max_entries)[4];
  int *key, *value;
} xsks_map SECTION(".maps");
static long (*bpf_redirect_map)(void *, __u64, __u64) = (void *)BPF_FUNC_redirect_map;
SECTION("xdp") int pick_even(struct xdp_md *context) {
  unsigned char *data = (void *)(long)context->data;
  if (data + 18 > (unsigned char *)(long)context->data_end || data[17] % 2) return XDP_PASS;
  return bpf_redirect_map(&xsks_map, context->rx_queue_index, XDP_PASS);
}
char terms[] SECTION("license") = "GPL";
"""


def compiled(source: str, target: Path) -> Path:
    headers = [
        word for folder in ("", f"/{os.uname().machine}-linux-gnu") for word in ("-idirafter", f"/usr/include{folder}")
    ]
    command = ["bpf-gcc", "-O2", "-gbtf", *headers, "-x", "c", "-", "-c", "-o", str(target)]
    subprocess.run(command, input=source, text=True, check=True)
    return target


@pytest.mark.skipif(shutil.which("bpf-gcc") is None, reason="needs gcc-bpf")
def test_a_program_of_the_users_picks_the_packets(loop: Open, tmp_path: Path) -> None:
    card, packets = loop(), numbered(100)
    attach(card, f"xdp:card0,program={compiled(PICK_EVEN, tmp_path / 'pick.o')}")
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5)) as owner:
        owner.bind(("card0", 0x88B5))
        owner.settimeout(HANG_S)
        send("peer0", packets, "card0")
        card.run(packets=50)
        finish(card)
        assert [owner.recv(2000) for _ in range(50)] == packets[1::2], "what goes on to its owner"
    frames = card.received(1)
    assert [frame.data for frame in frames] == packets[::2]
    assert all(abs(frame.timestamp_ns - time.time_ns()) < 10**9 for frame in frames)


@pytest.mark.skipif(shutil.which("bpf-gcc") is None, reason="needs gcc-bpf")
@pytest.mark.parametrize(
    ("name", "other", "message"),
    [
        ("xsks_map", "sockets", "has no map xsks_map of type XSKMAP"),
        ('SECTION("xdp")', 'SECTION("socket")', "has no XDP program"),
    ],
)
def test_a_program_that_can_not_be_used_is_refused(
    loop: Open, tmp_path: Path, name: str, other: str, message: str
) -> None:
    file = compiled(PICK_EVEN.replace(name, other), tmp_path / "pick.o")
    with pytest.raises(CardError, match=f"^xdp:card0: {file} {message}$"):
        loop().source(0, f"xdp:card0,program={file}")


# TAP


def test_frames_go_to_the_host_and_come_back_changed(loop: Open, later: Callable[..., None]) -> None:
    """The host pings an address behind port 0; what answers is another program on the device at port 1."""
    card = loop()
    card.source(0, "tap:left")
    card.sink(0, "tap:left")
    card.source(1, "tap:right,mtu=1400")
    card.sink(1, "tap:right")
    assert Path("/proc/thread-self/net/dev").read_text().count("left:") == 1

    request = bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(dst="10.0.0.2") / ICMP(id=7) / b"hi")
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as left,
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003)) as right,
    ):
        left.bind(("left", 0x0800))
        right.bind(("right", 0x0800))
        left.settimeout(HANG_S)
        right.settimeout(HANG_S)
        left.send(request)
        card.run(packets=1)
        card.run(wall_s=0.05)
        assert right.recv(2000) == request
        answer = Ether(right_answer := request)
        answer.src, answer.dst = answer.dst, answer.src
        answer[ICMP].type = 0
        assert bytes(answer) != right_answer
        right.send(bytes(answer))
        card.run(packets=1)
        card.run(wall_s=0.05)
        assert left.recv(2000) == bytes(answer)
    mtu = subprocess.run(["ip", "link", "show", "right"], capture_output=True, text=True, check=True).stdout
    assert "mtu 1400" in mtu and ",UP" in mtu
    card.close()
    assert subprocess.run(["ip", "link", "show", "left"], capture_output=True, check=False).returncode != 0


def test_a_tap_device_that_the_user_made_stays(loop: Open) -> None:
    ip("tuntap", "add", "tap0", "mode", "tap")
    card = loop()
    attach(card, "tap:tap0")
    assert card.link_up(0)
    card.close()
    ip("link", "show", "tap0")


def test_a_tap_device_takes_ethernet_only(loop: Open, tmp_path: Path) -> None:
    (tmp_path / "raw.pcap").write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
    card = loop()
    card.source(0, f"pcap:{tmp_path / 'raw.pcap'}")
    card.sink(1, "tap:tap0")
    for attempt in (card.run, card.close):
        with pytest.raises(CardError, match="^tap:tap0: takes Ethernet frames only$"):
            attempt()


def test_packets_that_a_tap_device_has_no_room_for_are_counted(loop: Open) -> None:
    card = loop()
    attach(card, "tap:tap0")
    send("tap0", numbered(20_000), pause_every=1000)
    finish(card)
    port = card.stats().ports[0]
    assert port.rx_frames == 16_384 and port.rx_missed == 20_000 - 16_384


def test_frames_that_wait_at_a_tap_device_have_come_together(loop: Open) -> None:
    card = loop()
    attach(card, "tap:tap0")
    card.run(wall_s=0.01)
    before = card.stats().evaluated_cycles
    send("tap0", numbered(50), pause_every=1)
    card.run(packets=50)
    finish(card)
    assert len({frame.timestamp_ns for frame in card.received(1)}) == 1
    assert card.stats().evaluated_cycles - before < 50 * 20, "one right after the other"


def test_a_tap_device_that_vanishes_is_an_error(loop: Open, later: Callable[..., None]) -> None:
    card = loop()
    attach(card, "tap:tap0")
    later(lambda: ip("link", "del", "tap0"))
    with pytest.raises(CaptureError, match="^tap:tap0: the interface has gone$"):
        card.run()


@pytest.mark.parametrize("what", [("set", "tap0", "down"), ("del", "tap0")])
def test_a_tap_device_that_is_down_or_has_gone_loses_frames(loop: Open, what: tuple[str, ...]) -> None:
    card = loop()
    card.source(0, "gen:count=3")
    card.sink(1, "tap:tap0")
    ip("link", *what)
    result = card.run()
    assert result.stats.ports[1].tx_frames == 3 and card.written(1).packets == 0


def test_a_port_knows_what_its_tap_device_is_called(loop: Open) -> None:
    card = loop()
    attach(card, "tap:tap0")
    assert (card.link_name(0), card.link_name(1)) == ("tap0", "")
    ip("link", "set", "tap0", "down")
    ip("link", "set", "tap0", "name", "other0")
    assert card.link_name(0) == "other0"
    with host_behind("other0", "10.0.0.1/24") as there:
        subprocess.run([*there, "ip", "link", "set", "other0", "down"], check=True)
        subprocess.run([*there, "ip", "link", "set", "other0", "name", "third0"], check=True)
        assert card.link_name(0) == "third0"
        subprocess.run([*there, "ip", "link", "del", "third0"], check=True)
        assert card.link_name(0) == ""


def test_a_port_knows_whether_its_tap_device_is_up_in_any_namespace(loop: Open, later: Callable[..., None]) -> None:
    card = loop()
    attach(card, "tap:tap0")
    assert card.link_up(0) and not card.link_up(1), "port 1 has no source"
    ip("link", "set", "tap0", "down")
    assert not card.link_up(0)
    with host_behind("tap0", "10.0.0.1/24") as there:
        assert card.link_up(0)
        subprocess.run([*there, "ip", "link", "set", "tap0", "down"], check=True)
        assert not card.link_up(0)
    with pytest.raises(CaptureError, match="^tap:tap0: the interface has gone$"):
        card.run()
    assert not card.link_up(0)


def test_nothing_is_left_behind(loop: Open) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for link in ("iface:card0", "xdp:card0", "tap:tap0"):
        card = Card.open(LOOP, progress=False)
        attach(card, link)
        card.run(wall_s=0.05)
        card.close()
    assert len(os.listdir("/proc/self/fd")) == before
