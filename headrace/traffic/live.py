"""Records real programs in two network namespaces with tcpdump.

Both namespaces, and every process in them, live inside one ``unshare --pid --kill-child``: when that process ends,
however it ends, the kernel ends the programs and removes the namespaces and interfaces, so nothing is left behind.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from headrace.errors import HeadraceError
from headrace.traffic import node
from headrace.traffic.capture import Traffic

_START_S = 10.0
_LONGEST_S = 60.0


def why_not() -> str | None:
    """Why real programs can't be recorded here, or None if they probably can."""
    if not sys.platform.startswith("linux"):
        return "network namespaces need Linux"
    if os.geteuid() != 0:
        return "network namespaces need root"
    missing = [tool for tool in ("unshare", "tcpdump") if shutil.which(tool) is None]
    return f"{' and '.join(missing)} not installed" if missing else None


def record(path: Path, packets: int, seed: int, progress: Callable[[int], None] | None = None) -> Traffic:
    """Run the programs until tcpdump has ``packets`` packets. Raises HeadraceError when they can't run."""
    try:
        path.touch()
    except OSError as error:
        raise HeadraceError(f"{path}: {error.strerror}") from None
    unshare = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    with tempfile.TemporaryFile("w+") as errors:
        scene = subprocess.Popen(
            [*unshare, *node.command("server", path.absolute(), packets, seed)],
            stdin=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        try:
            _wait(scene, path, packets, progress)
        finally:
            _end(scene)
        if scene.returncode != 0:
            raise HeadraceError(_last_line(errors) or f"the programs ended with code {scene.returncode}")
    count, size, seconds = _measure(path)
    if count == 0:
        raise HeadraceError("tcpdump recorded nothing")
    return Traffic(path, "live", count, size, seconds, node.CONTENTS)


def _wait(scene: subprocess.Popen[bytes], path: Path, packets: int, progress: Callable[[int], None] | None) -> None:
    """Wait for the scene to end, which it does by itself when tcpdump has its packets; ask it to when it is late."""
    started = time.monotonic()
    while scene.poll() is None:
        time.sleep(0.1)
        elapsed = time.monotonic() - started
        if progress is not None:
            progress(min(packets, path.stat().st_size // node.TYPICAL_RECORD))
        if elapsed > _LONGEST_S and scene.stdin is not None and not scene.stdin.closed:
            scene.stdin.close()
        if elapsed > _LONGEST_S + _START_S:
            raise HeadraceError("the programs did not end")


def _end(scene: subprocess.Popen[bytes]) -> None:
    if scene.stdin is not None:
        scene.stdin.close()
    if scene.poll() is None:
        scene.send_signal(signal.SIGKILL)
    scene.wait()


def _last_line(errors: IO[str]) -> str:
    errors.seek(0)
    lines = errors.read().strip().splitlines()
    return lines[-1] if lines else ""


def _measure(path: Path) -> tuple[int, int, float]:
    """Packets, captured bytes and seconds of a pcap file."""
    from scapy.utils import RawPcapReader

    count = size = 0
    first = last = 0.0
    with RawPcapReader(str(path)) as reader:
        for data, meta in reader:
            last = meta.sec + meta.usec * 1e-6
            first = first if count else last
            count += 1
            size += len(data)
    return count, size, last - first
