"""Root file systems of nodes: a folder, or a container image that podman brings."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from headrace.errors import HeadraceError


@dataclass(frozen=True)
class System:
    """What nodes (their indices) see as ``/``: a folder, or a container image by its name. ``key``: of the scenario."""

    nodes: tuple[int, ...]
    rootfs: Path | None = None
    image: str | None = None
    key: str = "rootfs"


def check(systems: Sequence[System]) -> None:
    """Raises HeadraceError where one can't be."""
    for system in systems:
        if system.rootfs is not None and not system.rootfs.is_dir():
            raise HeadraceError(f"{system.key}: {system.rootfs}: not a folder")
        if system.image is not None and shutil.which("podman") is None:
            raise HeadraceError(f"image {system.image}: podman is not installed, which fetches images")


def folders(systems: Sequence[System], tell: Callable[[str], None] = lambda _: None) -> Mapping[int, Path]:
    """The root folder of each node that has one. An image is fetched if it isn't there, and its files are kept in the
    user's cache, which ``tell`` hears of. Raises HeadraceError."""
    check(systems)
    found: dict[int, Path] = {}
    for system in systems:
        folder = system.rootfs if system.image is None else _unpacked(system.image, tell)
        assert folder is not None
        found |= dict.fromkeys(system.nodes, folder.resolve())
    return found


def _unpacked(image: str, tell: Callable[[str], None]) -> Path:
    """The folder of an image's files."""
    if subprocess.run(["podman", "image", "exists", image], capture_output=True, check=False).returncode:
        tell(f"image {image}: fetching")
        _podman(image, "pull", "--quiet", image)
    number = _podman(image, "image", "inspect", "--format", "{{.Id}}", image).strip()
    cache = Path(user_cache_path("headrace")) / "images"
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / number
    with FileLock(cache / f"{number}.lock"):
        if not folder.exists():
            tell(f"image {image}: unpacking")
            with tempfile.TemporaryDirectory(dir=cache) as new:
                _unpack(image, Path(new) / "files")
                os.rename(Path(new) / "files", folder)
    return folder


def _unpack(image: str, folder: Path) -> None:
    folder.mkdir()
    container = _podman(image, "create", "--network", "none", image, "true").strip()
    try:
        with subprocess.Popen(["podman", "export", container], stdout=subprocess.PIPE) as export:
            # device files are the machine's own; without root they can't be made, either
            words = ["tar", "--extract", "--exclude=dev/*", "--directory", str(folder)]
            tar = subprocess.run(words, stdin=export.stdout, capture_output=True, text=True, check=False)
    finally:
        _podman(image, "rm", container)
    if tar.returncode or export.returncode:
        raise HeadraceError(f"image {image}: {(tar.stderr.strip().splitlines() or ['podman export failed'])[-1]}")


def _podman(image: str, *words: str) -> str:
    done = subprocess.run(["podman", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["failed"])[-1]
        raise HeadraceError(f"image {image}: podman {words[0]}: {said.removeprefix('Error: ')}")
    return done.stdout
