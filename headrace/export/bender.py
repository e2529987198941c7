# SPDX-License-Identifier: Apache-2.0
"""A manifest for Bender."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from headrace.export.package import Package
from headrace.export.yaml import yaml_text


def manifest(package: Package) -> dict[PurePosixPath, str]:
    """``Bender.yml``."""
    group: dict[str, Any] = {"files": list(map(str, package.sources))}
    if package.include_folders:
        group = {"include_dirs": list(map(str, package.include_folders)), **group}
    table = {
        "package": {"name": package.name, "authors": ["The Headrace authors"], "description": package.summary},
        "sources": [group],
    }
    return {PurePosixPath("Bender.yml"): yaml_text(table)}
