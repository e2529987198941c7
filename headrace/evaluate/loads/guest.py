"""A virtual machine with a distribution's own kernel as the driver of a function: QEMU, Debian's or Ubuntu's kernel and
busybox, all in memory.

The kernel and its virtio modules are taken out of their package by the set-up, into ``.guest``; nothing is installed.
"""

from __future__ import annotations

import hashlib
import lzma
import platform
import random
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace import paths
from headrace.errors import HeadraceError

FOLDER = paths.share() / ".guest"
MEMORY_MB = 128
DATA = random.Random(0).randbytes(300_000)
"""What each guest serves by HTTP."""

_QEMU = "qemu-system-x86_64"
_MODULES = (
    "virtio", "virtio_ring", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "failover", "net_failover",
    "virtio_net",
)  # fmt: skip
"""Which of them need which differs by kernel, and some have them built in: they are tried in turn, three times."""
_PATIENCE_S = 900  # no machine on which a guest boots is that slow
_INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
stty -echo
for again in 1 2 3; do for module in /lib/*.ko; do insmod $module 2>/dev/null; done; done
for word in $(cat /proc/cmdline); do case $word in address=*) address=${word#*=};; esac; done
until [ -e /sys/class/net/eth0 ]; do sleep 0.1; done
ip addr add $address dev eth0; ip link set eth0 up; ip link set lo up
httpd -h /www
echo "guest: ready"
while read -r command; do eval "$command"; echo "guest: done $?"; done
"""


def why_not() -> str | None:
    """Why there can be no guest here; None where there can."""
    if platform.machine() != "x86_64":
        return "guests are of x86-64"
    for program in (_QEMU, "busybox"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    return None if (FOLDER / "vmlinuz").exists() else "there is no kernel for guests: run make setup"


class Guest:
    """A running guest. ``address`` is its own, without a prefix."""

    def __init__(self, process: subprocess.Popen[str], address: str, errors: Path) -> None:
        self.address = address
        self._process, self._errors = process, errors
        self._until("guest: ready")

    def run(self, command: str) -> tuple[int, str]:
        """Runs a command of busybox's shell; gives its exit status and what it wrote. Raises HeadraceError where the
        guest has ended."""
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        lines = self._until("guest: done ")
        return int(lines[-1].rpartition(" ")[2]), "".join(line + "\n" for line in lines[:-1])

    def pings(self, address: str) -> bool:
        """Whether one of three pings is answered: a network may lose one."""
        return any(self.run(f"ping -c 1 -W 100 {address}")[0] == 0 for _ in range(3))

    def fetches(self, address: str) -> bool:
        """Whether another guest's data arrive over TCP, whole and right."""
        status, text = self.run(f"wget -q -O - http://{address}/data | sha256sum")
        return status == 0 and text.split()[:1] == [hashlib.sha256(DATA).hexdigest()]

    def _until(self, sign: str) -> list[str]:
        assert self._process.stdout is not None
        lines: list[str] = []
        while not (lines and lines[-1].startswith(sign)):
            line = self._process.stdout.readline()
            if not line:
                said = (self._errors.read_text().strip() or "".join(lines[-5:])).splitlines()
                raise HeadraceError(f"the guest has ended: {said[-1] if said else 'without a word'}")
            lines.append(line.rstrip("\r\n"))
        return lines


@contextmanager
def guest(socket: Path, mac: str, address: str) -> Iterator[Guest]:
    """A guest whose network device is behind a vhost-user socket, with an address such as ``10.0.0.1/24``. Raises
    HeadraceError."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [
            _QEMU, "-M", "q35,accel=tcg", "-m", str(MEMORY_MB), "-nodefaults", "-no-reboot",
            "-display", "none", "-serial", "stdio",
            "-kernel", str(FOLDER / "vmlinuz"), "-initrd", str(_initramfs(folder)),
            "-append", f"console=ttyS0 quiet loglevel=1 panic=-1 net.ifnames=0 address={address}",
            "-object", f"memory-backend-memfd,id=memory,size={MEMORY_MB}M,share=on", "-numa", "node,memdev=memory",
            "-chardev", f"socket,id=port,path={socket}", "-netdev", "vhost-user,id=net,chardev=port",
            "-device", f"virtio-net-pci,netdev=net,mac={mac},packed=on,disable-legacy=on,romfile=,vectors=0",
        ]  # fmt: skip
        errors = folder / "errors"
        with (
            errors.open("w") as file,
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, text=True, errors="replace"
            ) as process,
        ):
            watchdog = threading.Timer(_PATIENCE_S, process.kill)
            watchdog.start()
            try:
                yield Guest(process, address.partition("/")[0], errors)
            finally:
                watchdog.cancel()
                process.kill()


def _initramfs(folder: Path) -> Path:
    """What the guest boots into, as an archive."""
    root = folder / "root"
    for name in ("bin", "dev", "proc", "sys", "lib", "www"):
        (root / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox") or "", root / "bin/busybox")
    for module in _MODULES:
        for found in FOLDER.glob(f"{module}.ko*"):
            data = found.read_bytes()
            (root / "lib" / f"{module}.ko").write_bytes(lzma.decompress(data) if found.suffix == ".xz" else data)
    (root / "www/data").write_bytes(DATA)
    init = root / "init"
    init.write_text(_INIT)
    init.chmod(0o755)
    archive = folder / "initramfs"
    names = sorted(str(path.relative_to(root)) for path in root.rglob("*"))
    with archive.open("wb") as file:
        subprocess.run(
            ["busybox", "cpio", "-o", "-H", "newc"],
            cwd=root,
            input="\n".join(names),
            text=True,
            stdout=file,
            stderr=subprocess.DEVNULL,
            check=True,
        )
    return archive
