# SPDX-License-Identifier: Apache-2.0
"""The accelerators of the RPU card's units, as libraries for their slots: those that come with Headrace, and a user's
own, a SystemVerilog file."""

from __future__ import annotations

import re
from pathlib import Path

from headrace import paths
from headrace.build.slots import build_slot
from headrace.errors import HeadraceError

NONE = "none"
KINDS = {"crc": 1, "checksum": 2, "blacklist": 3, "matcher": 4}
"""By name, the KIND of rtl/rpu/accel/rpu_accel_kind.sv."""

_SUFFIXES = (".sv", ".v")
_USER, _USER_MODULE = 5, "accel_user"
_LAYERS = ("stream", "memory", "rpu/accel")


def check(name: str) -> None:
    """Raises HeadraceError unless there is an accelerator of this name, or a file with one."""
    if name == NONE or name in KINDS:
        return
    path = Path(name)
    if path.suffix not in _SUFFIXES:
        names = ", ".join((NONE, *KINDS))
        raise HeadraceError(f"no accelerator '{name}'; there are {names}, and SystemVerilog files", 2)
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise HeadraceError(f"{path}: {error.strerror if isinstance(error, OSError) else error}", 2) from None
    if not re.search(rf"^\s*module\s+{_USER_MODULE}\b", text, re.MULTILINE):
        raise HeadraceError(f"{path}: no module {_USER_MODULE}, which an accelerator is", 2)


def library(name: str, data_w: int, progress: bool = True) -> Path | None:
    """The library of an accelerator for a card of some width, built if need be; None for ``none``.

    ``name``: one that comes with Headrace, or the path of a file with a module ``accel_user``. Raises HeadraceError
    when there is no such one, or it doesn't compile.
    """
    check(name)
    if name == NONE:
        return None
    own = [] if name in KINDS else [Path(name).resolve()]
    rtl = paths.rtl()
    packages = [rtl / "rpu" / "rpu_pkg.sv", rtl / "rpu" / "accel" / "matcher_pkg.sv"]
    return build_slot(
        Path(name).stem,
        "rpu_accel_shell",
        [*packages, *own, rtl / "rpu" / "accel" / "rpu_accel_shell.sv"],
        [rtl / layer for layer in _LAYERS],
        {"DATA_W": data_w, "KIND": KINDS.get(name, _USER)},
        progress=progress,
    )
