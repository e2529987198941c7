"""A controller's end of an OpenFlow 1.3 connection, one message after another; os-ken makes and reads the messages."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable
from typing import Any

from headrace.errors import HeadraceError

try:
    from os_ken.ofproto import ofproto_parser, ofproto_v1_3, ofproto_v1_3_parser
    from os_ken.ofproto.ofproto_protocol import ProtocolDesc
except ImportError as error:
    raise HeadraceError(
        f"the tests of OpenFlow need os-ken, which pip installs with 'headrace[test]' ({error})"
    ) from None

PATIENCE_S = 60.0
"""So long a switch may take to answer."""

ofp: Any = ofproto_v1_3
parser: Any = ofproto_v1_3_parser
datapath: Any = ProtocolDesc(ofp.OFP_VERSION)

_HEADER = struct.Struct("!BBHI")


class Refused(HeadraceError):
    """The switch answered with an error. ``type`` and ``code`` are those of the OpenFlow message."""

    def __init__(self, message: Any) -> None:
        self.type, self.code = int(message.type), int(message.code)
        super().__init__(
            f"the switch answers with error {ofp.ofp_error_type_to_str(self.type)} "
            f"{ofp.ofp_error_code_to_str(self.type, self.code)}"
        )


class Connection:
    """To a switch, over a connected stream socket, which it closes.

    ``packet_ins`` are those that have come in so far. Raises HeadraceError where the switch does not speak OpenFlow
    1.3, hangs up, or is silent for ``PATIENCE_S``.
    """

    def __init__(self, stream: socket.socket) -> None:
        self.packet_ins: list[Any] = []
        self._stream, self._received, self._xid = stream, b"", 0
        self._errors: dict[int, Any] = {}
        stream.settimeout(PATIENCE_S)
        if stream.family in (socket.AF_INET, socket.AF_INET6):
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._send(parser.OFPHello(datapath, [parser.OFPHelloElemVersionBitmap([ofp.OFP_VERSION])]))
        self.datapath_id = int(self.request(parser.OFPFeaturesRequest(datapath))[0].datapath_id)
        # Some switches send packets to those only who have asked for more than none of their bytes.
        self.apply([parser.OFPSetConfig(datapath, ofp.OFPC_FRAG_NORMAL, ofp.OFPCML_NO_BUFFER)])

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hangs up."""
        self._stream.close()

    def apply(self, messages: Iterable[Any]) -> None:
        """Sends messages that have no reply and a barrier after them; back when that is answered.

        Raises Refused with the first error that any of them got.
        """
        numbers = [self._send(message) for message in messages]
        self.request(parser.OFPBarrierRequest(datapath))
        errors = [self._errors.pop(number) for number in numbers if number in self._errors]
        if errors:
            raise Refused(errors[0])

    def request(self, message: Any) -> list[Any]:
        """Sends a request. Gives its reply: one message, or the parts of a multipart reply. Raises Refused."""
        number, found = self._send(message), []
        while True:
            reply = self._receive()
            if number in self._errors:
                raise Refused(self._errors.pop(number))
            if reply is None or reply.xid != number:
                continue
            found.append(reply)
            if not getattr(reply, "flags", 0) & ofp.OFPMPF_REPLY_MORE or not isinstance(
                reply, parser.OFPMultipartReply
            ):
                return found

    def statistics(self, message: Any) -> list[Any]:
        """What a multipart reply lists."""
        return [entry for reply in self.request(message) for entry in reply.body]

    def clear(self) -> None:
        """Deletes all flows, groups and meters; forgets the packets that came in."""
        flows = parser.OFPFlowMod(
            datapath, table_id=ofp.OFPTT_ALL, command=ofp.OFPFC_DELETE, out_port=ofp.OFPP_ANY, out_group=ofp.OFPG_ANY
        )
        groups = parser.OFPGroupMod(datapath, ofp.OFPGC_DELETE, 0, ofp.OFPG_ALL)
        meters = parser.OFPMeterMod(datapath, ofp.OFPMC_DELETE, 0, ofp.OFPM_ALL)
        self.apply([flows, groups, meters])
        self.packet_ins.clear()

    def _send(self, message: Any) -> int:
        self._xid += 1
        message.xid = self._xid
        message.serialize()
        self._stream.sendall(message.buf)
        return self._xid

    def _receive(self) -> Any:
        """The next message, unless it is dealt with here."""
        version, kind, length, xid = _HEADER.unpack(self._peek(_HEADER.size))
        if length < _HEADER.size:
            raise HeadraceError(f"the switch sends a message of {length} bytes, less than a header")
        data = self._peek(length)
        self._received = self._received[length:]
        if kind == ofp.OFPT_HELLO:
            if version < ofp.OFP_VERSION:
                raise HeadraceError(f"the switch speaks OpenFlow of version {version:#x} at most, not 1.3")
            return None
        if version != ofp.OFP_VERSION:
            raise HeadraceError(f"the switch sends a message of version {version:#x}, not of OpenFlow 1.3")
        message = ofproto_parser.msg(datapath, version, kind, length, xid, data)
        if message is None:
            raise HeadraceError(f"os-ken can't read a message of type {kind} from the switch: {data.hex()}")
        if kind == ofp.OFPT_ECHO_REQUEST:
            reply = parser.OFPEchoReply(datapath, data=message.data)
            reply.set_xid(xid)
            reply.serialize()
            self._stream.sendall(reply.buf)
        elif kind == ofp.OFPT_PACKET_IN:
            self.packet_ins.append(message)
        elif kind == ofp.OFPT_ERROR:
            self._errors[xid] = message
        else:
            return message
        return None

    def _peek(self, count: int) -> bytes:
        while len(self._received) < count:
            try:
                data = self._stream.recv(1 << 16)
            except TimeoutError:
                raise HeadraceError(f"the switch has not answered for {PATIENCE_S:.0f} s") from None
            if not data:
                raise HeadraceError("the switch has closed the connection")
            self._received += data
        return self._received[:count]
