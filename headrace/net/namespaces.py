# SPDX-License-Identifier: Apache-2.0
"""Networks of a program's own: network namespaces, with hosts behind interfaces."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.errors import HeadraceError

_CLONE_NEWNET = 0x4000_0000


def why_not() -> str | None:
    """Why there can be no such network here; None where there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    return None if shutil.which("ip") else "ip is not installed"


@contextmanager
def own_network() -> Iterator[None]:
    """This thread, and what it starts, live in a new network namespace, which goes with the last of them. It has no
    IPv6, and so no packets but those that are meant. Raises HeadraceError."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.unshare(_CLONE_NEWNET) != 0:
            raise HeadraceError(f"network namespace: {os.strerror(ctypes.get_errno())}")
        for scope in ("all", "default"):
            Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6").write_text("1")
        yield
    finally:
        libc.setns(before, _CLONE_NEWNET)
        os.close(before)


@contextmanager
def host_behind(interface: str, address: str) -> Iterator[list[str]]:
    """Puts an interface into a host of its own, with an address such as ``10.0.0.1/24``; gives the words that start a
    program there. The interface goes with the host. Raises HeadraceError."""
    words = ["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as host:
        try:
            assert host.stdout is not None
            if not host.stdout.readline():
                raise HeadraceError("no network namespace for a host")
            there = ["nsenter", "--net", "--target", str(host.pid)]
            ip("link", "set", interface, "netns", str(host.pid))
            ip("addr", "add", address, "dev", interface, there=there)
            ip("link", "set", interface, "up", there=there)
            yield there
        finally:
            host.kill()


def ip(*words: str, there: list[str] | None = None) -> None:
    """Runs ``ip`` with these words, ``there`` or here. Raises HeadraceError with what it says."""
    done = subprocess.run([*(there or []), "ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise HeadraceError(f"ip {' '.join(words)}: {done.stderr.strip()}")
