# SPDX-License-Identifier: Apache-2.0
"""Blocks and cards for use outside of Headrace: RTL, constraints, a wrapper with plain ports, manifests for tools.

    from headrace.export import export
    export("stream_fifo", "fifo", forms=["fusesoc", "vivado"], parameters={"DEPTH": 64})

``export`` takes a module of rtl/, the .sv file of a module of one's own, a card's name, or the folder of a
card.
"""

from headrace.export.write import export

__all__ = ["export"]
