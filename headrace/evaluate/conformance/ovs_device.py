"""Open vSwitch as a switch under test: a bridge with ports that exist in memory only, as OVS's own tests use them."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from headrace.evaluate.conformance.device import PORTS
from headrace.evaluate.conformance.openflow import Connection, datapath, ofp, parser
from headrace.net.ovs import BRIDGE, open_vswitch

_MAX_QUEUE = 64  # packets that a port of the dummy datapath surely holds
_STEP_MS = 100  # its time goes on so much at once: each step takes it 10 ms, and its meters' buckets hold 1 s
_RECORD = struct.Struct("=IIII")


class OvsDevice:
    """A bridge with three ports in memory. Its time is the wall's, or stands still and goes on with loads only."""

    def __init__(self, own_time: bool = True) -> None:
        with ExitStack() as stack:
            self._ovs = stack.enter_context(open_vswitch())
            self.name = f"Open vSwitch {self._ovs.appctl('version').split()[-1]}"
            # 0: as many VLAN tags as it can.
            words = ["set", "Open_vSwitch", ".", "other_config:vlan-limit=0", "--", "set", "bridge", BRIDGE]
            words += ["protocols=OpenFlow13", "other_config:datapath-id=0000000000000001"]
            for port in PORTS:
                words += ["--", "add-port", BRIDGE, f"p{port}", "--", "set", "interface", f"p{port}", "type=dummy"]
                words += [f"ofport_request={port}", f"options:tx_pcap={self._pcap(port)}"]
            self._ovs.vsctl(*words)
            self._counts = stack.enter_context(Connection(self.connect()))
            self._outputs = {port: stack.enter_context(self._pcap(port).open("rb")) for port in PORTS}
            self._stack = stack.pop_all()
        for output in self._outputs.values():
            output.seek(24)  # the file's header
        self._sent = 0
        self._behind_ns = 0.0  # of the load's time, what has not passed yet
        if own_time:
            self._ovs.appctl("time/stop")

    def __enter__(self) -> OvsDevice:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends it."""
        self._stack.close()

    def connect(self) -> socket.socket:
        """A stream to the bridge."""
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stream.connect(self._ovs.address.removeprefix("unix:"))
        return stream

    def send(self, port: int, frames: Sequence[bytes], every_ns: float = 0) -> None:
        """Frames come in at a port. With ``every_ns`` its own time goes on, in steps."""
        for start in range(0, len(frames), _MAX_QUEUE):
            if start:
                self.settle()
            some = frames[start : start + _MAX_QUEUE]
            self._ovs.appctl("netdev-dummy/receive", f"p{port}", *(frame.hex() for frame in some))
            self._sent += len(some)
            self._behind_ns += every_ns * len(some)
        if self._behind_ns >= _STEP_MS * 1e6:
            self.settle()
            self._ovs.appctl("time/warp", str(int(self._behind_ns // 1e6)))
            self._behind_ns %= 1e6

    def settle(self) -> None:
        """Its ports count a packet when they hand it over, and it is through before the count is asked for."""
        request = parser.OFPPortStatsRequest(datapath, 0, ofp.OFPP_ANY)
        while sum(port.rx_packets for port in self._counts.statistics(request) if port.port_no in PORTS) < self._sent:
            pass

    def received(self, port: int) -> list[bytes]:
        """The records of the port's file since last time."""
        output, frames = self._outputs[port], []
        while len(header := output.read(_RECORD.size)) == _RECORD.size:
            frames.append(output.read(_RECORD.unpack(header)[2]))
        return frames

    def enforce(self) -> None:
        """It answers a barrier before its datapath has changed: here the datapath forgets its cache."""
        self._ovs.appctl("revalidator/purge")

    def _pcap(self, port: int) -> Path:
        return self._ovs.folder / f"p{port}.pcap"
