"""What Verilator says of the accelerators before anything runs: lint, refused parameters, the same ports for all."""

import re

import pytest
from rpu_accel.building import FOLDER, lint

BLOCKS = sorted(path.stem for path in FOLDER.glob("*.sv") if not path.stem.endswith("_pkg"))
REGISTERS = "accel_crc32"  # whose ports the others must have

WRONG: list[tuple[str, dict[str, int]]] = [
    ("accel_jobs", {"DATA_W": 96}),
    ("accel_jobs", {"DATA_W": 1024}),
    ("accel_jobs", {"TAG_W": 0}),
    ("accel_jobs", {"JOBS": 2}),
    ("accel_jobs", {"JOBS": 12}),
    ("accel_results", {"IDENTIFICATION": 0}),
    ("accel_results", {"JOBS": 256}),
    ("accel_crc32", {"DATA_W": 64}),
    ("accel_checksum", {"DATA_W": 384}),
    ("accel_matcher", {"DATA_W": 64}),
    ("accel_matcher", {"ROWS": 100}),
    ("accel_matcher", {"ROWS": 8192}),
    ("accel_matcher", {"MATCHES": 8}),
    ("matcher_filter", {"DATA_W": 96}),
    ("matcher_lookup", {"ROWS": 32}),
    ("matcher_compare", {"ROWS": 8192}),
    ("accel_blacklist", {"DATA_W": 64}),
    ("accel_blacklist", {"CAPACITY": 128}),
    ("accel_blacklist", {"CAPACITY": 4096}),
    ("accel_blacklist", {"CAPACITY": 1050}),
]


def ports(block: str) -> list[str]:
    """The port list of a module, without comments and spaces."""
    head = re.search(r"^\) \((.*?)^\);", (FOLDER / f"{block}.sv").read_text(), re.DOTALL | re.MULTILINE)
    assert head
    return [" ".join(line.split("//")[0].split()).rstrip(",") for line in head[1].splitlines() if "put" in line]


def accelerators() -> list[str]:
    return [block for block in BLOCKS if block.startswith("accel_") and block not in ("accel_jobs", "accel_results")]


@pytest.mark.parametrize("block", BLOCKS)
def test_lint_is_clean(block: str) -> None:
    assert not lint(block)


@pytest.mark.parametrize("block", accelerators())
def test_every_accelerator_has_the_same_ports(block: str) -> None:
    assert ports(block) == ports(REGISTERS)


@pytest.mark.parametrize(("block", "parameters"), WRONG, ids=str)
def test_wrong_parameters_are_refused_with_a_reason(block: str, parameters: dict[str, int]) -> None:
    refusals = [line for line in lint(block, **parameters).splitlines() if "USERFATAL" in line]
    assert any(all(word in line for word in parameters) for line in refusals)


def test_every_parameter_of_every_block_is_refused_above() -> None:
    tried = {(block, name) for block, parameters in WRONG for name in parameters}
    for block in BLOCKS:
        head = (FOLDER / f"{block}.sv").read_text().split(") (")[0]
        for name in re.findall(r"^ +parameter .*?(\w+) =", head, re.MULTILINE):
            assert (block, name) in tried
