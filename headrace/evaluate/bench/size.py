"""What a filter core and a capture engine take of an FPGA, beside FFShark's and bpfcap's."""

from __future__ import annotations

from functools import partial

from headrace import synth
from headrace.evaluate.bench import MEASURED, Row
from headrace.evaluate.bench.designs import ENGINE, synth_command
from headrace.evaluate.points import Progress
from headrace.evaluate.study.filter_points import WIRE

# FFShark's core (github.com/UofT-HPRC/fpga-bpf, 512-bit ingest) on the same Yosys 0.70.
FFSHARK_XCUP_LUTS = 4404
FFSHARK_XCUP_BRAM36 = 23.5
BPFCAP_ALUTS = 1205
"""bpfcap's engine (J. Duchniewicz, KTH, 2022, figure 5.6), by Quartus for a Cyclone V."""

MOST_LUTS, MOST_BRAM36 = 2000, 12

_row = partial(Row, "size")


def run(progress: Progress) -> list[Row]:
    """Rows of the filter core for frames of a wire, 512 bits, and of the default's; then of the capture engine without
    filters on a 32-bit bus."""

    def say(what: str) -> None:
        progress(what, None)

    core = synth.run("bpf_core", "xcup", WIRE, hierarchy=False, progress=say).total
    default = synth.run("bpf_core", "xcup", hierarchy=False, progress=say).total
    engine = synth.run("capture_engine", "cyclonev", ENGINE, hierarchy=False, progress=say).total
    return [
        _row(
            "filter core of 32 KB, frames of up to 9,216 bytes, on UltraScale+ (xcup), LUTs",
            f"at most {MOST_LUTS:,}",
            core.luts,
            "LUTs",
            core.luts <= MOST_LUTS,
            MEASURED,
            f"FFShark {FFSHARK_XCUP_LUTS:,}; {synth_command('bpf_core', WIRE, ' --target xcup')}",
        ),
        _row(
            "its memories",
            f"at most {MOST_BRAM36}",
            core.rams,
            "BRAM36",
            core.rams <= MOST_BRAM36,
            MEASURED,
            f"FFShark {FFSHARK_XCUP_BRAM36}",
        ),
        _row(
            "memories of the default's, 128 KB, frames of up to 65,600 bytes",
            "-",
            default.rams,
            "BRAM36",
            None,
            MEASURED,
            f"{default.luts:,} LUTs; headrace synth bpf_core --target xcup",
        ),
        _row(
            "capture engine without filters, 32-bit bus, on Cyclone V",
            "-",
            engine.luts,
            "LUTs",
            None,
            MEASURED,
            f"bpfcap {BPFCAP_ALUTS:,} ALUTs by Quartus; "
            + synth_command("capture_engine", ENGINE, " --target cyclonev"),
        ),
    ]
