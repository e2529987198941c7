# SPDX-License-Identifier: Apache-2.0
"""C declarations for cffi, parsed once and kept in the cache: parsing takes longer than a short command's own work."""

from __future__ import annotations

import io
from typing import Any

from headrace import cache as cachedir
from headrace.build.toolchain import digest
from headrace.errors import HeadraceError


def declared(name: str, text: str) -> Any:
    """A cffi FFI that knows the declarations in ``text``. A cache that can't be read or written only costs time."""
    import _cffi_backend

    file = f"{name}-{digest(_cffi_backend.__version__, text)}.py"
    try:
        return _loaded(cachedir.trusted(cachedir.cache_folder("harness") / file).read_text())
    except Exception:
        pass  # absent, a stranger's or broken: made again
    source = _parsed(name, text)
    try:
        cachedir.write_atomically(cachedir.cache_folder("harness") / file, source)
    except (OSError, HeadraceError):
        pass
    return _loaded(source)


def _parsed(name: str, text: str) -> str:
    """A Python module with the same declarations, which doesn't need cffi's parser."""
    import cffi
    from cffi.recompiler import make_py_source

    ffi = cffi.FFI()
    ffi.cdef(text)
    source = io.StringIO()
    make_py_source(ffi, name, source)
    return source.getvalue()


def _loaded(source: str) -> Any:
    module: dict[str, Any] = {}
    exec(source, module)
    return module["ffi"]
