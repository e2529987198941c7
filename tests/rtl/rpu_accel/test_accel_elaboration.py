"""The accelerators have the same ports, so that a unit can have any of them."""

import re

import pytest
from rpu_accel.building import FOLDER

BLOCKS = sorted(path.stem for path in FOLDER.glob("*.sv") if not path.stem.endswith("_pkg"))
REGISTERS = "accel_crc32"  # whose ports the others must have


def ports(block: str) -> list[str]:
    """The port list of a module, without comments and spaces."""
    head = re.search(r"^\) \((.*?)^\);", (FOLDER / f"{block}.sv").read_text(), re.DOTALL | re.MULTILINE)
    assert head
    return [" ".join(line.split("//")[0].split()).rstrip(",") for line in head[1].splitlines() if "put" in line]


def accelerators() -> list[str]:
    return [block for block in BLOCKS if block.startswith("accel_") and block not in ("accel_jobs", "accel_results")]


@pytest.mark.parametrize("block", accelerators())
def test_every_accelerator_has_the_same_ports(block: str) -> None:
    assert ports(block) == ports(REGISTERS)
