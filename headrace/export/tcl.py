# SPDX-License-Identifier: Apache-2.0
"""Pieces of Tcl that the scripts of several tools share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

LICENCE = "# SPDX-License-Identifier: Apache-2.0"
HERE = "set here [file dirname [file normalize [info script]]]"


def braced(text: str) -> str:
    """A word that Tcl doesn't look into."""
    return "{" + text + "}"


def listed(name: str, places: Iterable[PurePosixPath]) -> list[str]:
    """A list of files below ``$here``, in a variable."""
    return [f"set {name} {{}}", *(f"lappend {name} [file join $here {braced(str(place))}]" for place in places)]


def argument(name: str, default: str) -> str:
    """A variable with the script's argument, or a default."""
    return f'set {name} [expr {{[llength $argv] > 0 ? [lindex $argv 0] : "{default}"}}]'
