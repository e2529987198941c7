"""The load generator of a node: all its streams over plain IP, whatever routes they take. Telemetry goes by UDP,
commands and images by TCP, a connection for each stream; all ends at port 4850 of the other node."""

from __future__ import annotations

import contextlib
import os
import socket
from collections import Counter
from typing import Any

from headrace.emulator.processes import loop, pipe, wire
from headrace.emulator.processes.pipe import Pipe
from headrace.emulator.processes.streams import MODELS, Stream, Streams, answer
from headrace.emulator.processes.wire import Kind, Malformed

PORT = 4850
_RECEIVE = 1 << 22
_RETRY_S = 0.5
_AT_ONCE = 64


class Load:
    """``load``: one process a node."""

    def __init__(self) -> None:
        """Raises OSError where the port is taken."""
        self.loop = loop.Loop()
        self.counts: Counter[str] = Counter()
        self._streams = Streams(self.loop, self._transmit, repeats=False)
        self._pipes: dict[int, Pipe] = {}
        self._buffer = bytearray(wire.HEAD_BYTES + wire.MAX_BODY + 1)
        self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        loop.grow(self._datagrams, _RECEIVE)
        self._datagrams.bind(("", PORT))
        self._datagrams.setblocking(False)
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        pipe.listen(self._listener, "", PORT)
        self.loop.watch(self._datagrams, self._read)
        self.loop.watch(self._listener, self._accept)
        loop.serve(self.loop, "load", self._answer)

    def run(self) -> None:
        """For ever."""
        self.loop.run()

    def _transmit(self, stream: Stream, data: bytearray) -> None:
        if not MODELS[stream.kind].reliable:
            self._send((stream.address, PORT), data)
        elif (there := self._pipes.get(stream.number)) is None:
            self._connect(stream)  # which sends all
        elif there.peer:
            there.send(data, always=True)  # the stream's window bounds it

    def _send(self, address: tuple[str, int], data: bytearray) -> None:
        try:
            self._datagrams.sendto(data, address)
        except OSError:
            self.counts["not_sent"] += 1

    def _connect(self, stream: Stream) -> None:
        if self._streams.senders[stream.number].done or stream.number in self._pipes:
            return
        link = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if not pipe.connect(link, (stream.address, PORT)):
            self.loop.later(_RETRY_S, lambda: self._connect(stream))
            return

        def connected(there: Pipe) -> None:
            there.peer = stream.destination
            self._streams.send_again(stream.number)

        def gone(_: Pipe, reason: str) -> None:
            print(f"stream {stream.number} to {stream.address}: {reason}", flush=True)
            self.counts["connections_lost"] += 1
            del self._pipes[stream.number]
            self.loop.later(_RETRY_S, lambda: self._connect(stream))

        self._pipes[stream.number] = Pipe(self.loop, link, self._hear, gone, connected)

    def _accept(self) -> None:
        link = pipe.accept(self._listener)
        if link is not None:
            Pipe(self.loop, link, self._hear, lambda *_: None, lambda _: None)

    def _hear(self, there: Pipe, data: bytearray) -> None:
        packet = wire.decode(data)
        if packet.kind not in (Kind.DATA, Kind.ACK):
            raise Malformed(f"{packet.kind.name} is not for a load generator")
        said = self._streams.hear(packet)
        if said is not None:
            there.send(said, always=True)

    def _read(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                size, address = self._datagrams.recvfrom_into(self._buffer)
            except BlockingIOError:
                return
            except OSError:
                continue  # an ICMP error about what was sent
            try:
                packet = wire.decode(self._buffer[:size])
            except Malformed as error:
                self.counts["malformed"] += 1
                print(f"malformed, from {address[0]}: {error}", flush=True)
                continue
            said = self._streams.hear(packet)
            if said is not None:
                self._send(address, said)

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "stats":
            counts = dict(self.counts)
            with contextlib.suppress(OSError, ValueError):
                counts["receive_drops"] = loop.datagram_drops()
            return {"role": "load", "pid": os.getpid(), "counts": counts, **self._streams.stats()}
        said = answer(self._streams, request)
        if said is None:
            raise ValueError(f"unknown request: {request}")
        return said
