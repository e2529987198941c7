# SPDX-License-Identifier: Apache-2.0
"""Where Headrace keeps what it can make again: built models, parsed register maps, synthesis reports.

Models are executed, so nobody but the user who runs them, and root, may put anything there.
"""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from headrace.errors import HeadraceError

_OTHERS_WRITE = 0o022  # group and all


def cache_root() -> Path:
    """$HEADRACE_CACHE, or ``headrace`` in the user's cache folder. It may not exist yet."""
    chosen = os.environ.get("HEADRACE_CACHE")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("headrace")


def cache_folder(kind: str) -> Path:
    """The folder of a kind, such as ``models``, ``firmware`` or ``synth``. It may not exist yet.

    Raises HeadraceError when it, or the cache itself, is another user's or can be written by others.
    """
    root = cache_root()
    for folder in (root, root / kind):
        _refuse_strangers(folder)
    return root / kind


def make_folder(folder: Path) -> None:
    """Makes a folder of the cache, for this user alone. Raises OSError, and HeadraceError as ``cache_folder`` does."""
    for each in (folder.parent, folder):
        each.mkdir(0o700, parents=True, exist_ok=True)
        _refuse_strangers(each)


def trusted(library: Path) -> Path:
    """A library of the cache, once it is clear that only this user or root can have written it.

    Raises HeadraceError when it, its folder or the cache is another user's or can be written by others.
    """
    for path in (library.parent.parent, library.parent, library):
        _refuse_strangers(path)
    return library


def write_atomically(path: Path, text: str) -> None:
    """Writes a file of the cache so that another process sees all of it or nothing. Raises as ``make_folder`` does."""
    make_folder(path.parent)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=path.name, suffix=".part", delete=False) as file:
        try:
            file.write(text)
            file.close()
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def note_reads(files: Iterable[Path]) -> None:
    """Adds the files that a build depends on to the list that $HEADRACE_READS names, if it names one."""
    if listed := os.environ.get("HEADRACE_READS"):
        with open(listed, "a") as file:
            file.write("".join(f"{path}\n" for path in files))


def _refuse_strangers(folder: Path) -> None:
    try:
        status = folder.stat()
    except OSError:
        return  # who needs it finds that out
    if status.st_uid not in (os.geteuid(), 0):
        raise HeadraceError(
            f"the cache {folder} belongs to another user, who could change what runs: set HEADRACE_CACHE"
        )
    if status.st_mode & _OTHERS_WRITE:
        raise HeadraceError(f"others can write to the cache {folder} and change what runs: chmod go-w {folder}")
