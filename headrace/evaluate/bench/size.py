"""What a filter core and a capture engine cost, and how much work that buys, beside FFShark's and bpfcap's."""

from __future__ import annotations

from functools import partial

from headrace import synth
from headrace.evaluate.bench import MEASURED, MODELLED, Row
from headrace.evaluate.bench.filter import EXPRESSION, PATH
from headrace.evaluate.points import Progress

# FFShark's core (github.com/UofT-HPRC/fpga-bpf, 512-bit ingest) on the same Yosys 0.70 and nextpnr.
FFSHARK_XCUP_LUTS = 4404
FFSHARK_XCUP_BRAM36 = 23.5
FFSHARK_ECP5_LUTS = 8277
FFSHARK_ECP5_MHZ = 46.1
FFSHARK_CYCLES = 20  # of 20 to 22 for the same path
CORE = {"PACKET_KB": 32, "MAX_FRAME": 9216}

# bpfcap's engine (J. Duchniewicz, KTH, 2022, figure 5.6), by Quartus for a Cyclone V.
BPFCAP_ALUTS = 1205
ENGINE = {"MEM_W": 32, "SLOTS": 8, "READ_BUFFER": 32, "RECORDS": 32}
ENGINE_LEAST_MHZ = 125

MOST_LUTS, MOST_BRAM36, LEAST_MHZ, LEAST_GAIN = 2000, 12, 100, 10


_row = partial(Row, "size")


def run(quick: bool, progress: Progress) -> list[Row]:
    """Rows of the filter core, then of the capture engine."""
    seeds = 1 if quick else 5
    return _core(seeds, progress) + _engine(seeds, progress)


def _engine(seeds: int, progress: Progress) -> list[Row]:
    """The capture engine without filters on a 32-bit bus: size on Cyclone V, Fmax on ECP5."""

    def say(what: str) -> None:
        progress(what, None)

    cyclonev = synth.run("capture_engine", "cyclonev", ENGINE, hierarchy=False, progress=say)
    ecp5 = synth.run("capture_engine", "ecp5", ENGINE, seeds=seeds, hierarchy=False, progress=say)
    mhz = (ecp5.placement.fmax_mhz if ecp5.placement else None) or 0.0
    settings = " ".join(f"-P {name}={value}" for name, value in ENGINE.items())
    return [
        _row(
            "capture engine without filters, 32-bit bus, on Cyclone V",
            "-",
            cyclonev.total.luts,
            "LUTs",
            None,
            MEASURED,
            f"bpfcap {BPFCAP_ALUTS:,} ALUTs by Quartus; headrace synth capture_engine --target cyclonev {settings}",
        ),
        _row(
            "its Fmax on ECP5, placed and routed",
            f"at least {ENGINE_LEAST_MHZ}",
            mhz,
            "MHz",
            mhz >= ENGINE_LEAST_MHZ,
            MEASURED,
            f"{ecp5.total.luts:,} LUT4, median of {seeds} seeds",
        ),
    ]


def _core(seeds: int, progress: Progress) -> list[Row]:
    """The filter core for frames of a wire, 512 bits: size on UltraScale+ and ECP5, Fmax on ECP5; the default's too."""

    def say(what: str) -> None:
        progress(what, None)

    xcup = synth.run("bpf_core", "xcup", CORE, hierarchy=False, progress=say)
    ecp5 = synth.run("bpf_core", "ecp5", CORE, seeds=seeds, hierarchy=False, progress=say)
    default = synth.run("bpf_core", "xcup", hierarchy=False, progress=say)
    settings = " ".join(f"-P {name}={value}" for name, value in CORE.items())
    placement = ecp5.placement
    mhz = (placement.fmax_mhz if placement else None) or 0.0
    ours = mhz * 1e6 / PATH / ecp5.total.luts
    theirs = FFSHARK_ECP5_MHZ * 1e6 / FFSHARK_CYCLES / FFSHARK_ECP5_LUTS
    return [
        _row(
            "filter core of 32 KB, frames of up to 9,216 bytes, on UltraScale+ (xcup), LUTs",
            f"at most {MOST_LUTS:,}",
            xcup.total.luts,
            "LUTs",
            xcup.total.luts <= MOST_LUTS,
            MEASURED,
            f"FFShark {FFSHARK_XCUP_LUTS:,}; headrace synth bpf_core --target xcup {settings}",
        ),
        _row(
            "its memories",
            f"at most {MOST_BRAM36}",
            xcup.total.rams,
            "BRAM36",
            xcup.total.rams <= MOST_BRAM36,
            MEASURED,
            f"FFShark {FFSHARK_XCUP_BRAM36}",
        ),
        _row(
            "memories of the default's, 128 KB, frames of up to 65,600 bytes",
            "-",
            default.total.rams,
            "BRAM36",
            None,
            MEASURED,
            f"{default.total.luts:,} LUTs; headrace synth bpf_core --target xcup",
        ),
        _row(
            "filter core on ECP5",
            "-",
            ecp5.total.luts,
            "LUT4",
            None,
            MEASURED,
            f"FFShark {FFSHARK_ECP5_LUTS:,}",
        ),
        _row(
            "its Fmax, placed and routed",
            f"at least {LEAST_MHZ}",
            mhz,
            "MHz",
            mhz >= LEAST_MHZ,
            MEASURED,
            f"median of {seeds} seeds; FFShark {FFSHARK_ECP5_MHZ}; headrace synth bpf_core --target ecp5 {settings}",
        ),
        _row(
            f"verdicts of {EXPRESSION}",
            "-",
            ours,
            "a second and LUT4",
            None,
            MODELLED,
            f"Fmax / {PATH} cycles / LUT4",
        ),
        _row(
            "work per LUT beside FFShark's",
            f"at least {LEAST_GAIN}",
            ours / theirs,
            "times",
            ours / theirs >= LEAST_GAIN,
            MODELLED,
            f"FFShark {theirs:,.0f}: {FFSHARK_ECP5_MHZ} MHz / {FFSHARK_CYCLES} cycles / {FFSHARK_ECP5_LUTS:,} LUT4",
        ),
    ]
