"""The switch's editor, of all widths."""

import pytest
import simulation

SOURCES = [
    simulation.RTL / "switch" / "switch_pkg.sv",
    simulation.RTL / "switch" / "editor_pkg.sv",
    *simulation.rtl("pkg", "memory", "stream"),
    *(simulation.RTL / "switch" / f"{name}.sv" for name in ("packet_store", "edit_patches", "packet_editor")),
]


@pytest.mark.parametrize("width", [128, 256, 512])
def test_packet_editor(width: int) -> None:
    simulation.simulate("packet_editor", sources=SOURCES, DATA_W=width, STORE_KB=4)


@pytest.mark.parametrize("width", [128, 256])
def test_lint_is_clean(width: int) -> None:
    assert not simulation.lint("packet_editor", DATA_W=width)
