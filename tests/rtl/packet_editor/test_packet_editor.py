"""The switch's editor, of all widths."""

import pytest
import simulation
from soak import soak

FOLDER = simulation.RTL / "switch"
PARTS = ("packet_store", "copy_steps", "edit_patches", "edit_overlay", "sctp_crc", "packet_editor")
SOURCES = [
    *(FOLDER / f"{name}.sv" for name in ("switch_pkg", "editor_pkg")),
    *simulation.rtl("pkg", "memory", "stream"),
    *(FOLDER / f"{name}.sv" for name in PARTS),
]


@pytest.mark.parametrize(("width", "narrow"), [(128, 0), soak(256, 0), (512, 0), soak(128, 1), soak(256, 1), (512, 1)])
def test_packet_editor(width: int, narrow: int) -> None:
    simulation.simulate("packet_editor", sources=SOURCES, DATA_W=width, STORE_KB=4, NARROW=narrow)
