"""The processor is the installed package's, with the bridge before its data bus opened."""

from pathlib import Path

import pytest
import pythondata_cpu_vexriscv

from headrace.build.processor import VARIANT, vexriscv
from headrace.errors import HeadraceError


def test_only_the_bridge_the_interrupt_mask_and_what_tells_where_it_is_differ_from_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    package = (Path(pythondata_cpu_vexriscv.data_location) / f"{VARIANT}.v").read_text()
    theirs = package.replace("/* verilator public */", "").splitlines()
    ours = vexriscv().read_text().splitlines()
    added = [line for line in ours if line not in theirs]
    told = (
        "pipeline_",
        "execute_stage_PC",
        "|| execute_arbitration_isValid;",
        ": memory_arbitration_isValid ? memory_PC",
    )
    new = [line for line in added if any(part in line for part in told)]
    assert len(new) == 8 and len(ours) == len(theirs) + 1 + len(new)
    assert all("dBus" in line or "externalInterruptArray" in line for line in added if line not in new)
    assert vexriscv() == vexriscv()


def test_another_processor_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / f"{VARIANT}.v").write_text("module VexRiscv (); endmodule\n")
    monkeypatch.setattr(pythondata_cpu_vexriscv, "data_location", str(tmp_path))
    with pytest.raises(HeadraceError, match="not the processor that Headrace knows: no single 'input"):
        vexriscv()
