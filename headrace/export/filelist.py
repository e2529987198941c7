# SPDX-License-Identifier: Apache-2.0
"""A plain list of files, as Verilator, slang, Yosys and the large simulators take it with ``-F``."""

from __future__ import annotations

from pathlib import PurePosixPath

from headrace.export.package import Package


def filelist(package: Package) -> dict[PurePosixPath, str]:
    """``NAME.f``; what it names is relative to it."""
    lines = [f"+incdir+{folder}" for folder in package.include_folders]
    lines += map(str, package.sources)
    return {PurePosixPath(f"{package.name}.f"): "\n".join(lines) + "\n"}
