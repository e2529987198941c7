"""What the thesis on an OpenFlow switch with SR-IOV says of its DMA over PCI Express (its chapters 5 and 6)."""

from __future__ import annotations

TRANSFER_GBIT_S = {1_024: 3.0, 1 << 20: 40.0}
"""Section 6.1.1, on figure 6.1: Gb/s from one function's memory through the switch to another's, by bytes of a
transfer; the figure's other points have no numbers."""

LINK_GBIT_S = 64.0
"""Section 5.4.1: PCIe 3.0 with eight lanes, "not considering the overhead of the protocol"; the left bar of 6.7."""

WINDOW = 32
"""Section 5.4.2: its reads in flight."""

PCIE4_GBIT_S, PCIE4_LINK_GBIT_S = 70.0, 128.0
"""Section 6.4: what it expects of its engine on PCIe 4.0, "70+ out of 128"."""

HEADERS = {32: 12, 64: 16}
"""Figure 5.7's two curves: bytes of a TLP's header by the width of the addresses."""
