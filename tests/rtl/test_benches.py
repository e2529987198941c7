"""Programs of benches lie in the user's cache, which outlives the checkout that filled it."""

import subprocess

from headrace.build import toolchain
from headrace.testing import benches


def test_a_bench_needs_no_header_from_where_verilator_is_installed() -> None:
    common = benches.shared()
    command = [toolchain.find_compiler(), *benches.flags_of_all(common.parent), "-M", str(common.with_name("common.h"))]
    needed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "verilated.h" in needed
    assert str(toolchain.verilator_root()) not in needed
