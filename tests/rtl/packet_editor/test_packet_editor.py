"""The switch's editor, of all widths."""

import pytest
import simulation

FOLDER = simulation.RTL / "switch"
PARTS = ("packet_store", "copy_steps", "edit_patches", "edit_overlay", "sctp_crc", "packet_editor")
SOURCES = [
    *(FOLDER / f"{name}.sv" for name in ("switch_pkg", "editor_pkg")),
    *simulation.rtl("pkg", "memory", "stream"),
    *(FOLDER / f"{name}.sv" for name in PARTS),
]


@pytest.mark.parametrize("width", [128, 256, 512])
def test_packet_editor(width: int) -> None:
    simulation.simulate("packet_editor", sources=SOURCES, DATA_W=width, STORE_KB=4)


@pytest.mark.parametrize("width", [128, 256])
def test_lint_is_clean(width: int) -> None:
    assert not simulation.lint("packet_editor", DATA_W=width)
