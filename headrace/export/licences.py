# SPDX-License-Identifier: Apache-2.0
"""The licences of what goes out."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from headrace import paths
from headrace.export.sources import Contents


def licences(contents: Contents) -> dict[PurePosixPath, Path]:
    """Licence files, by their places in the export."""
    found = {PurePosixPath("LICENSE"): paths.share() / "LICENSE"}
    if contents.has_processor:
        from pythondata_cpu_vexriscv import data_location

        found[PurePosixPath("LICENSE.VexRiscv")] = Path(data_location) / "ext" / "VexRiscv" / "LICENSE"
    return found
