"""The words of the report of the bridge card's study."""

KNOWN = """\
- **measured**: what the RTL does, in cycles of the card; LUTs, flip-flops and RAMs by Yosys.
- **modelled**: times, which are cycles and a nominal clock; and the host (see below).
- **published**: D. Salvisberg, *An Adaptive Hardware/Software Interface for EmbedNet*, ETH Zurich, SA-2015-09, 2015;
  measured on a board (Virtex-6, MicroBlaze at 100 MHz). Its figures have few numbers in their text: those stand
  here."""

HOSTS = """\
| host | a message costs | a byte | clock and bus of the card | line |
|---|---|---|---|---|
| embednet | {h2s_us:,.0f} us to software, {s2h_us:,.0f} us to hardware | {byte_ns:.1f} ns | 100 MHz, 32 bits | 1 Gb/s |
| pcie | 1 us both ways | 0 | 322 MHz, 64 bits | 10 Gb/s |

A message is one buffer handed over. *embednet* is fitted to three published rates of 1,500-byte packets: single packets
at 15 Mb/s to software and 9 Mb/s to hardware, and 150 Mb/s to software with 64 KB. All others are predicted. As in
EmbedNet, each direction has a thread of its own, but there are four host buffers each way and two halves of local
memory, so that hardware and software work at the same time. EmbedNet's take turns: what they lose by that is in the
fitted cost of a byte."""

PUBLISHED = """\
What EmbedNet's text says in numbers, and what comes out here; the ratio farthest from 1 first, and last the points
that the models were fitted to, which test nothing.

Figure 5.9's finding does not come out of Headrace's card: there a timeout of 1 ms ends near 35 Mb/s and one of 10 ms
can't follow from about 20 Mb/s on, here both follow all the way. The reason is that EmbedNet's hardware takes no
packets while software handles a batch, and this card does. A model of taking turns, with the same host and one more
fitted number (how many packets have room meanwhile), shows both."""

THROUGHPUT = """\
Full load: from hardware to software, frames come at the line's rate, and what finds no room is dropped and counted;
from software to hardware, software has the next buffer ready. Payload is counted, which is the whole frame without
FCS."""

LATENCY = """\
From the frame's last bit at the port to software's getting its batch, or from software's handing the packet to the
driver to the frame's first bit on the line; the longest of all packets. Without a timeout, the first packet of a
batch waits until it is full: 64 KB at 1 Mb/s is half a second. EmbedNet measured the time between buffers, which is
the same wait."""

TRACES = """\
Two superposed triangle waves, packets of 1,024 bytes, as in EmbedNet's section 5.4. Its traces take 180 s; these are
{scale:g} times as fast in their slopes, which is harder to follow. Those of 1 to 80 and 20 to 40 Mb/s go from
{begin:g} to {seconds:g} s: at 0.6 s one wave is lowest, at 0.9 s both are highest. *offered* is what comes to the port
in a step, *delivered* what software has got."""

ADAPTIVE = """\
The traffic analyser and the control in the card choose batch size and timeout; the target is for the 99th percentile
of the time from the line to software's having the packet. The card's own target, which counts from the batch on, is
less by the way through port and network on chip: 20 us (embednet) and 0.5 us (pcie). The fixed settings stand beside
it. A step without 100 packets has its longest latency as 99th percentile."""

CRITICAL = """\
Port 0 brings 1,514-byte frames at 10 Gb/s into batches of 64 KB without end; port 1 brings latency-critical frames
of 256 bytes now and then. Counted from the frame's last bit on the wire to software's having it, 1 us of which is
the host's. Allowed is what single packets take (99th percentile) when there is no burst, and the transfer of a
packet of 1,514 bytes at 10 Gb/s."""

SIZES = """\
Yosys for UltraScale+ (the same six-input LUTs and 36 Kb RAMs as a Virtex-6), flattened, EmbedNet's configuration: a
bus of 32 bits and 64 KB of local memory in all. Ours do more: descriptors in queues instead of one message at a
time, two batches in the local memory, bursts while packets come in, run-time settings from the time of day."""
