"""A session with the card in this folder: packets through its ports, its registers, its log in host memory."""

from pathlib import Path

from headrace.card import Card

RING, ENTRIES = 0x10_0000, 256

with Card.open(Path(__file__).parent) as card:
    # The host gives the card a ring of 64-byte entries.
    card.memory.map(RING, 64 * ENTRIES)
    card.regs.log_base.write(RING)
    card.regs.log_size.write(ENTRIES)
    card.regs.control.log = 1

    # 100 packets into port 0 at 1 Gb/s; they must come out of port 1 untouched.
    card.source(0, "gen:size=60-1514,count=100,rate=1G")
    card.sink(1, "pcap:swapped.pcap")
    card.expect_passthrough(0, 1)
    stats = card.run().stats

    for port in (0, 1):
        counters = card.regs.port[port]
        print(f"port {port}: {counters.frames.read()} frames, {counters.bytes.read()} bytes")
    print(f"mismatches: {stats.passthrough_mismatches}, latency: {stats.latency_cycles} cycles")
    print(f"logged: {card.regs.log_written.read()}, interrupts: {len(card.irqs())}")
    print(f"first entry: {card.memory.read(RING, 64).hex()}")
    print(f"{stats.cycles} cycles, of which {stats.skipped_cycles} idle ones were skipped")
