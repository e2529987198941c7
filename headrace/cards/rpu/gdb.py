"""gdb's remote protocol for one unit of a running card, as the manual of GDB describes it (appendix "Remote Protocol").

The server is a program of its own beside the card, and reaches the unit's core over the card's control socket: several
steps go into one request. One gdb at a time; when it leaves, its breakpoints go and the core goes on.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Sequence
from typing import Any

from headrace.cards.rpu.debug import CSRS, PC
from headrace.cards.rpu.service import CHUNK
from headrace.errors import HeadraceError

Steps = Callable[[Sequence[Sequence[Any]]], list[Any]]
"""Does steps of ``Service``'s request ``debug`` one after the other, and gives their results."""

_PACKET = 2 * CHUNK
_LOOK_S = 0.02  # between looks whether a core that goes on has halted
_INTERRUPT = 0x03
_CSR_NUMBER = 65  # of CSR 0, among gdb's registers
_NAMES = "zero ra sp gp tp t0 t1 t2 fp s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6 pc"
_POINTERS = {"ra": "code_ptr", "pc": "code_ptr", "sp": "data_ptr", "gp": "data_ptr", "tp": "data_ptr", "fp": "data_ptr"}
_SIGNAL = {"breakpoint": "T05swbreak:;thread:1;", "halted": "T02thread:1;", "step": "T05thread:1;"}


def target_description() -> str:
    """The registers of a core, as gdb wants to know them."""
    registers = [
        f'<reg name="{name}" bitsize="32" regnum="{number}" type="{_POINTERS.get(name, "int")}"/>'
        for number, name in enumerate(_NAMES.split())
    ]
    csrs = [
        f'<reg name="{name}" bitsize="32" regnum="{_CSR_NUMBER + number}" save-restore="no"/>'
        for name, number in CSRS.items()
    ]
    return (
        '<?xml version="1.0"?><!DOCTYPE target SYSTEM "gdb-target.dtd"><target version="1.0">'
        "<architecture>riscv:rv32</architecture>"
        f'<feature name="org.gnu.gdb.riscv.cpu">{"".join(registers)}</feature>'
        f'<feature name="org.gnu.gdb.riscv.csr">{"".join(csrs)}</feature></target>'
    )


class GdbServer:
    """Listens at a TCP port of this machine (0: any that is free); ``port`` says which."""

    def __init__(self, do: Steps, port: int = 0) -> None:
        """Raises HeadraceError when the port is taken."""
        self._do = do
        self._link = socket.socket()
        self._link.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._link.bind(("127.0.0.1", port))
        except OSError as error:
            self._link.close()
            raise HeadraceError(f"port {port}: {error.strerror}") from None
        self._link.listen(1)
        self.port: int = self._link.getsockname()[1]

    def close(self) -> None:
        """Listens no more."""
        self._link.close()

    def serve(self) -> None:
        """Serves the next gdb until it leaves. Raises HeadraceError when the card has ended or the unit is in reset."""
        client, _ = self._link.accept()
        with client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._do([["attach"]])
            try:
                _Session(client, self._do).run()
            except (ConnectionError, OSError):
                pass  # gdb is gone
            finally:
                self._do([["detach"]])


class _Session:
    def __init__(self, client: socket.socket, do: Steps) -> None:
        self._client, self._do = client, do
        self._data = bytearray()
        self._acknowledge = True
        self._registers: list[int] | None = None  # of the halted core
        self._stop = _SIGNAL["halted"]
        self._watched: list[tuple[int, int]] = []  # addresses and bytes

    def run(self) -> None:
        while (packet := self._receive()) is not None:
            if packet[:1] in (b"D", b"k"):
                if packet[:1] == b"D":
                    self._send("OK")
                return
            try:
                self._send(self._answer(packet))
            except HeadraceError as error:
                self._send(f"E.{error}" if packet[:1] == b"Z" else "E01")  # gdb knows texts of some requests only
            except ValueError:
                self._send("E02")

    # ------------------------------------------------------------------------------------------------ packets

    def _fill(self) -> bool:
        part = self._client.recv(4096)
        self._data += part
        return bool(part)

    def _receive(self) -> bytes | None:
        """The next packet's contents; None: gdb has gone."""
        while True:
            start, end = self._data.find(b"$"), self._data.find(b"#")
            if start >= 0 and 0 <= start < end and len(self._data) >= end + 3:
                body, given = bytes(self._data[start + 1 : end]), bytes(self._data[end + 1 : end + 3])
                del self._data[: end + 3]
                right = given.decode("ascii", "replace").lower() == f"{sum(body) & 0xFF:02x}"
                if self._acknowledge:
                    self._client.sendall(b"+" if right else b"-")
                if right:
                    return body
                continue
            if 0 <= end < start:
                del self._data[: end + 1]
                continue
            if not self._fill():
                return None

    def _send(self, text: str) -> None:
        body = text.encode()
        self._client.sendall(b"$%s#%02x" % (body, sum(body) & 0xFF))

    # ------------------------------------------------------------------------------------------------ requests

    def _answer(self, packet: bytes) -> str:
        text = packet.decode("latin-1")
        match text[:1]:
            case "?":
                return self._stop
            case "g":
                return "".join(_word(value) for value in self._all())
            case "G":
                values = [_value(text[1 + 8 * n : 9 + 8 * n]) for n in range(min(PC + 1, len(text) // 8))]
                return self._set(list(enumerate(values)))
            case "p":
                number = int(text[1:], 16)
                return _word(self._all()[number] if number <= PC else self._csr(number - _CSR_NUMBER))
            case "P":
                name, _, value = text[1:].partition("=")
                return self._set([(int(name, 16), _value(value))])
            case "m":
                address, size = (int(part, 16) for part in text[1:].split(","))
                return str(self._do([["read", address, min(size, CHUNK)]])[0])
            case "M":
                place, _, data = text[1:].partition(":")
                return self._write(place, bytes.fromhex(data))
            case "X":
                place, _, data = text[1:].partition(":")
                return self._write(place, _unescaped(data.encode("latin-1")))
            case "Z" | "z":
                return self._breakpoint(text)
            case "c" | "s":
                if text[1:]:
                    self._set([(PC, int(text[1:], 16))])
                return self._go(text[0])
            case "v":
                return self._long(text)
            case "q" | "Q":
                return self._query(text)
            case "H" | "T":
                return "OK"
        return ""

    def _long(self, text: str) -> str:
        if text == "vCont?":
            return "vCont;c;C;s;S;r"
        if not text.startswith("vCont;"):
            return ""
        action = text[6:].partition(";")[0].partition(":")[0]
        return self._go(action[0].lower(), action[1:] if action[0] == "r" else "")

    def _query(self, text: str) -> str:
        name, _, rest = text.partition(":")
        if name == "qSupported":
            return f"PacketSize={_PACKET:x};qXfer:features:read+;QStartNoAckMode+;vContSupported+;swbreak+"
        if text.startswith("qXfer:features:read:target.xml:"):
            start, size = (int(part, 16) for part in rest.rpartition(":")[2].split(","))
            whole = target_description()
            return ("m" if start + size < len(whole) else "l") + whole[start : start + size]
        if text == "QStartNoAckMode":
            self._acknowledge = False
        known = {"QStartNoAckMode": "OK", "qAttached": "1", "qC": "QC1", "qfThreadInfo": "m1", "qsThreadInfo": "l"}
        return known.get(name, "")

    def _breakpoint(self, text: str) -> str:
        kind, *place = text[1:].partition(";")[0].split(",")
        address, size = (int(part, 16) for part in place)
        if kind == "2":
            watched = [each for each in self._watched if each != (address, size)]
            self._watched = [*watched, (address, size)] if text[0] == "Z" else watched
        elif kind in ("0", "1"):
            self._do([["break" if text[0] == "Z" else "unbreak", address, kind == "1"]])
        else:
            return ""
        return "OK"

    def _write(self, place: str, data: bytes) -> str:
        address, size = (int(part, 16) for part in place.split(","))
        if data:
            self._do([["write", address, data[:size].hex()]])
        return "OK"

    # ------------------------------------------------------------------------------------------------ the core

    def _all(self) -> list[int]:
        if self._registers is None:
            self._registers = list(self._do([["registers"]])[0])
        return self._registers

    def _csr(self, number: int) -> int:
        names = {place: name for name, place in CSRS.items()}
        if number not in names:
            raise ValueError
        return int(self._do([["csrs"]])[0][names[number]])

    def _set(self, values: Sequence[tuple[int, int]]) -> str:
        self._do([["set_register", number, value] for number, value in values])
        self._registers = None
        return "OK"

    def _go(self, how: str, span: str = "") -> str:
        """Goes on or steps, until the core halts."""
        self._registers = None
        if how == "c" and not self._watched:
            self._do([["resume"]])
            self._stop = _SIGNAL[self._wait()]
        else:
            self._stop = self._step(how, [int(part, 16) for part in span.split(",")] if span else None)
        self._registers = list(self._do([["registers"]])[0])
        return self._stop

    def _step(self, how: str, span: list[int] | None) -> str:
        """Some steps at a time: in a span of addresses, or as far as it takes until something that is watched changes.
        The core has no watchpoints of its own."""
        start, end = span or ([0, 1 << 32] if how == "c" else [0, 0])
        while True:
            found = self._do([["step", start, end, self._watched]])[0]
            if found["changed"] is not None:
                return f"T05watch:{found['changed']:x};thread:1;"
            if not found["on"]:
                return _SIGNAL["step"]
            if self._interrupted(0):
                return _SIGNAL["halted"]

    def _wait(self) -> str:
        while True:
            state = str(self._do([["state"]])[0])
            if state != "running":
                return state
            if self._interrupted(_LOOK_S):
                self._do([["halt"]])
                return "halted"

    def _interrupted(self, seconds: float) -> bool:
        if select.select([self._client], [], [], seconds)[0] and not self._fill():
            raise ConnectionResetError
        if _INTERRUPT not in self._data:
            return False
        del self._data[: self._data.index(_INTERRUPT) + 1]
        return True


def _word(value: int) -> str:
    return value.to_bytes(4, "little").hex()


def _value(text: str) -> int:
    return int.from_bytes(bytes.fromhex(text), "little")


def _unescaped(data: bytes) -> bytes:
    found = bytearray()
    parts = iter(data)
    for byte in parts:
        found.append(next(parts) ^ 0x20 if byte == ord("}") else byte)
    return bytes(found)
