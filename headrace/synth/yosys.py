"""Runs Yosys (pyosys) in a process of its own, so that its chatter goes to a log and a crash ends only that run."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from headrace.errors import HeadraceError

# Cells have to reach the counting as they are, so no pads and clock buffers are put around the module.
_SYNTH = {
    "xcup": "synth_xilinx -family xcup -noiopad -noclkbuf -top {top}{flatten}{flags}",
    "ecp5": "synth_ecp5 -top {top}{flatten}{flags}",
    "cyclonev": "synth_intel_alm -family cyclonev -noiopad -noclkbuf -top {top}{flatten}{flags}",
}
_FLATTEN = {"xcup": (" -flatten", ""), "ecp5": ("", " -noflatten"), "cyclonev": ("", " -noflatten")}

_RUN = "import sys; from pyosys import libyosys; libyosys.Design().run_pass('script ' + sys.argv[1])"

_SOURCE_ERROR = re.compile(r"^(.+?):(\d+)(?::\d+)?: (?:ERROR|error): (.*)$", re.MULTILINE)
_OTHER_ERROR = re.compile(r"^(?:ERROR|error): (?!Design elaboration failed)(.*)$", re.MULTILINE)
_BLOCK_OR_LUT = (
    re.compile(r"^mapping memory (\S+) via (\S+)$", re.MULTILINE),
    re.compile(r"^Processing (\S+):\n(?: .*\n)*? +Creating (\S+) cell at", re.MULTILINE),  # cyclonev
)
_REGISTERS = re.compile(r"^Mapping memory \\(\S+) in module \\(\S+):$", re.MULTILINE)


def write_read_options(path: Path, top: str, files: Sequence[Path], parameters: Mapping[str, str]) -> None:
    """Writes what ``read_slang -f PATH`` needs; Yosys' own scripts can't quote names with spaces, slang's files can."""
    lines = [f"--top {top}"]
    lines += [f"-G {_quoted(f'{name}={value}')}" for name, value in parameters.items()]
    lines += [_quoted(str(file)) for file in files]
    path.write_text("\n".join(lines) + "\n")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def synth_command(target: str, top: str, flatten: bool, flags: Sequence[str]) -> str:
    extra = "".join(f" {flag}" for flag in flags)
    return _SYNTH[target].format(top=top, flatten=_FLATTEN[target][0 if flatten else 1], flags=extra)


def run_script(commands: Sequence[str], folder: Path, name: str) -> str:
    """Runs ``commands`` in ``folder`` with the log in ``name.log``, and returns the log.

    Raises HeadraceError with the first error and its place in the source.
    """
    script = folder / f"{name}.ys"
    script.write_text("\n".join(commands) + "\n")
    log = folder / f"{name}.log"
    with log.open("w") as output:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _RUN, script.name],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    text = log.read_text(errors="replace")
    if done.returncode != 0:
        raise HeadraceError(_first_error(text, done.returncode, folder))
    return text


def _first_error(log: str, code: int, folder: Path) -> str:
    if match := _SOURCE_ERROR.search(log):
        source = (folder / match[1]).resolve()  # the log names files relative to where Yosys ran
        shown = source.relative_to(Path.cwd()) if source.is_relative_to(Path.cwd()) else source
        return f"{shown}:{match[2]}: {match[3]}"
    if match := _OTHER_ERROR.search(log):
        return f"Yosys: {match[1]}"
    return f"Yosys ended with exit code {code} and no message"


def memories(log: str, top: str) -> dict[str, str]:
    """What each memory of the source became ("block", "distributed" or "registers"), by its path below ``top``."""
    mapped = [memory for form in _BLOCK_OR_LUT for memory in form.findall(log)]
    found = {path: "distributed" if _is_lut(kind) else "block" for path, kind in mapped}
    found.update((f"{module}.{name}", "registers") for name, module in _REGISTERS.findall(log))
    # A table of constants that Yosys has made of multiplexers is logic.
    return {path.removeprefix(f"{top}."): kind for path, kind in sorted(found.items()) if "$auto$" not in path}


def _is_lut(kind: str) -> bool:
    return "LUTRAM" in kind or "DPR16X4" in kind or "MLAB" in kind
