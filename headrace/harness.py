"""The harness's C interface (sim/headrace.h), loaded with cffi from a built model."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import cffi

from headrace import paths
from headrace.errors import HeadraceError


@functools.cache
def interface() -> cffi.FFI:
    """The declarations of sim/headrace.h: its lines without the preprocessor's."""
    text = (paths.sim() / "headrace.h").read_text()
    plain = []
    skipping = False
    for line in text.splitlines():
        if line.startswith("#ifdef __cplusplus"):
            skipping = True
        elif skipping and line.startswith("#endif"):
            skipping = False
        elif not skipping and not line.startswith("#"):
            plain.append(line)
    ffi = cffi.FFI()
    ffi.cdef("\n".join(plain))
    return ffi


def load(library: Path) -> Any:
    """The functions and constants of a model. Raises HeadraceError when the library can't be loaded."""
    try:
        return interface().dlopen(str(library))
    except OSError as error:
        raise HeadraceError(f"can't load the model: {error}; headrace cache --clear removes it") from None
