"""The words of the report of the capture card's study."""

KNOWN = """\
- **measured**: cycles of the RTL, counted by the card itself (`packet_cycles`, `last_cycles`, and `busy_cycles` for
  streams). The same on every machine and in every run.
- **modelled**: nanoseconds and Gb/s, which are cycles times a nominal clock; and host memory, which answers as
  described.
- **published**: table 5.1 of J. Duchniewicz, *FPGA accelerated packet capture with eBPF*, degree project, KTH,
  TRITA-EECS-EX, 2022; measured on a board (Cyclone V).
- **wall clock**: the software path; of the machine on which the study ran.

Power can't be measured here: a simulated card draws none. The thesis' table 5.2 stays without a counterpart."""

TABLE = """\
A packet of payload + {headers} bytes in host memory becomes a record in a ring in host memory, over a 32-bit bus, one
packet at a time. bpfcap counts from the write of the packet's address into a register; ours likewise, from the packet's
descriptor on, to the response to the last write. *From the doorbell* counts the fetch of the descriptor, too."""

MEMORIES = """\
| host memory | read latency | response to a write | waits of a write burst's first word |
|---|---|---|---|
| ideal | 0 | 0 | 0 |
| one wait | 0 | 0 | 1 cycle |
| bridge | 0 to 15 cycles, at random for each burst | 0 to 15 cycles, likewise | 6 cycles |

*bridge* stands for the board's FPGA-to-HPS bridge. What that takes isn't published, but can be estimated: bpfcap's own
RTL, with one wait per write burst, takes 49 cycles for the smallest packet (simulated), and on the board 72 to 76. Its
two reads and two writes therefore cost about 12 cycles a pair more; *bridge* splits that evenly: 7.5 cycles of latency
for a read on average, 6 cycles of waiting for a write. They are cycles and not nanoseconds because the board's are: the
published medians at 50, 100 and 200 MHz are the same number of cycles within 1.3 %, and within 6 % for the two smallest
packets at bursts of 16."""

SPREAD = """\
What our spread means: each point has {count} packets, which begin at any byte of a 4 KB page. Before each, one of
random length (1 to 67 bytes) moves the place in the ring, so that records begin at any byte, too. With *bridge*, each
burst's latency is at random. All of it comes from seeds, and nothing else varies: with ideal memory, what is left is
alignment.

The published standard deviation says something else. 25 of the 54 published minima are less than 0.7 of their median,
and all of these lie in the range of the next smaller payload: one packet of the series before, most probably. One among
100 makes more than half of the standard deviation in each of these 25 rows, and moves the mean by less than 1 %."""

TOGETHER = """\
Several packets with one doorbell: the next one's reading overlaps the writing of the one before. Cycles until all are
written, bursts of 16, everything aligned."""

STREAMS = """\
Packets with one doorbell, read and write latency 100 ns, bursts of 16. *Share* is record bytes / (busy cycles x bytes
of the bus), start and end counted in; *payload* is the same without the records' 16-byte headers. A packet that begins
2 bytes beside a multiple of 64 can take one more word of the bus to read than to write: on wide buses, small packets
are then bound by reading."""

LATENCY = """\
What is read ahead bounds a stream when memory is far: READ_BUFFER words (128 unless given), and 32 packets. At 512 bits
that is 8 KiB, or 65 Gb/s at 1,000 ns; with READ_BUFFER=512 it is four times that, and small packets are bound by
their number."""

WIRE = """\
One port at 100 Gb/s, frames one right after the other, memory latency 500 ns: {packets:,} frames of {sizes:,} sizes,
{dropped:,} dropped{where}. All work ends at most {lag:,} cycles after the last byte{meaning}. `headrace bench capture`
takes every size from 60 to 1,514. Two ports bring up to 200 Gb/s, more than the bus or the engine takes: what is
dropped is counted."""

SOFTWARE = """\
The thesis (section 5.1.1) gives {published_us} µs from a packet's arrival in the kernel to user space, on the board's
ARM Cortex-A9. **This machine is another one**, faster by far: the figures say what software costs here and nothing
about the board. Processor time per packet, over a veth pair. *In all* is the receiver's and what it makes the sender
spend more, because the kernel hands a veth's packets over on the sender's account. *Latency* is the median from arrival
in the kernel to a blocked process, one packet a millisecond. A tenth of a µs is noise on a busy machine.

A card that captures spends none of this: its host reads whole records out of the ring."""
