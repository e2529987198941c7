"""What the thesis on an OpenFlow switch with SR-IOV measured on an FPGA, beside Open vSwitch in the kernel."""

from __future__ import annotations

KEY_BITS = 264
"""Of its match tuple."""

CONNECTIONS_KPPS = {
    (1, 100): (6.0, 19.6),
    (1, 1_000): (5.8, 18.2),
    (1, 10_000): (5.6, 16.8),
    (2, 100): (11.4, 23.8),
    (2, 1_000): (11.1, 23.5),
    (2, 10_000): (9.4, 20.8),
}
"""Table 6.1: packets a second in thousands of Open vSwitch and of the FPGA, by packets of data a connection and bytes
of each. Connections follow each other, and their ends are Linux sockets."""

SMALL_GBIT_S = {100: (0.79, 1.21)}
"""Section 6.1.2: packets of 100 bytes between two sockets, of Open vSwitch and of the FPGA; figure 6.3's other points
have no numbers."""

FIR_GBIT_S, FIR_GAIN = 32.0, 10
"""Section 6.3: what its filter takes, 4 samples a cycle at 250 MHz; how much more of it comes through a socket than of
software's at most."""


def cam_bits(entries: int, chunk: int, key: int = KEY_BITS) -> int:
    """Section 4.4.1: bits of RAM of a CAM whose key is cut into chunks, each of which addresses a RAM."""
    return -(-key // chunk) * (1 << chunk) * entries
