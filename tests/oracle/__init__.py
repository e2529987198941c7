"""What the tests compare the cards with, and what they feed them.

libpcap itself is the oracle for verdicts (`headrace.net.bpf.run_many`); `interpret` follows one program step by step
where a test needs the number of instructions or has to end a program that loops.
"""

from oracle.captures import make_capture
from oracle.expressions import EXPRESSIONS, HTTP_WITH_DATA, TCP_SOURCE_100
from oracle.interpreter import Outcome, interpret
from oracle.packets import Packet, random_packets
from oracle.programs import random_program, random_programs

__all__ = [
    "EXPRESSIONS",
    "HTTP_WITH_DATA",
    "TCP_SOURCE_100",
    "Outcome",
    "Packet",
    "interpret",
    "make_capture",
    "random_packets",
    "random_program",
    "random_programs",
]
