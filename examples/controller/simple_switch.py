# ruff: noqa: E402
"""A controller that makes an OpenFlow 1.3 switch learn where hosts are: os-ken's simple switch, in a few lines.

Start it, then the switch:

    python simple_switch.py [PORT]
    headrace switch run --controller tcp:127.0.0.1:6653 --port 1=tap:h1 --port 2=tap:h2
"""

import sys

from os_ken.lib import hub

hub.patch(thread=False)  # before all else: os-ken's tasks are not threads

from os_ken import cfg
from os_ken.base.app_manager import AppManager, OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ethernet, packet
from os_ken.ofproto import ofproto_v1_3


class SimpleSwitch(OSKenApp):
    """Packets to an unknown host are flooded; from the first packet of a host on, those to it have a flow."""

    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]  # noqa: RUF012

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.ports = {}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def connected(self, event):
        datapath = event.msg.datapath
        parser, ofproto = datapath.ofproto_parser, datapath.ofproto
        to_us = parser.OFPActionOutput(ofproto.OFPP_CONTROLLER, ofproto.OFPCML_NO_BUFFER)
        add_flow(datapath, 0, parser.OFPMatch(), to_us)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event):
        message, datapath = event.msg, event.msg.datapath
        parser, ofproto = datapath.ofproto_parser, datapath.ofproto
        port = message.match["in_port"]
        header = packet.Packet(message.data).get_protocol(ethernet.ethernet)
        self.ports[datapath.id, header.src] = port
        out = self.ports.get((datapath.id, header.dst), ofproto.OFPP_FLOOD)
        action = parser.OFPActionOutput(out)
        if out != ofproto.OFPP_FLOOD:
            match = parser.OFPMatch(in_port=port, eth_dst=header.dst, eth_src=header.src)
            add_flow(datapath, 1, match, action)
        datapath.send_msg(
            parser.OFPPacketOut(datapath, ofproto.OFP_NO_BUFFER, in_port=port, actions=[action], data=message.data)
        )


def add_flow(datapath, priority, match, action):
    parser, ofproto = datapath.ofproto_parser, datapath.ofproto
    apply = parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, [action])
    datapath.send_msg(parser.OFPFlowMod(datapath, priority=priority, match=match, instructions=[apply]))


if __name__ == "__main__":
    cfg.CONF(["--ofp-tcp-listen-port", *(sys.argv[1:] or ["6653"])], project="os_ken")
    AppManager.run_apps([__file__])
