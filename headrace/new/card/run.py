"""A run of the card in this folder: packets through its ports, and its registers."""

from pathlib import Path

from headrace.card import Card

SOURCE, SINK = "gen:size=60-1514,count=100", "memory"  # or captures: "pcap:in.pcap", "pcap:out.pcap"

with Card.open(Path(__file__).parent) as card:
    card.source(0, SOURCE)
    card.sink(1, SINK)
    card.expect_passthrough(0, 1)  # what comes out must be what went in
    stats = card.run().stats
    for port in (0, 1):
        counters = card.regs.port[port]
        print(f"port {port}: {counters.frames.read()} frames, {counters.bytes.read()} bytes")
    print(f"{stats.passthrough_mismatches} changed on the way, latency {stats.latency_cycles} cycles")
