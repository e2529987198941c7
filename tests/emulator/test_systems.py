"""Nodes with a root file system of their own: a folder, or a container image."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from emulator_bench import scenario
from patience import until

from headrace.cli import main
from headrace.emulator import systems
from headrace.emulator.client import Emulation
from headrace.emulator.scenario import read
from headrace.errors import HeadraceError

PLACES = [(0, 0), (100, 0)]


@pytest.fixture
def rootfs(open_folder: Path) -> Path:
    """A system with nothing but busybox."""
    busybox = shutil.which("busybox")
    if busybox is None:
        pytest.skip("busybox is not installed")
    folder = open_folder / "system"
    (folder / "bin").mkdir(parents=True)
    shutil.copy(busybox, folder / "bin/busybox")
    for name in ("sh", "ls", "cat", "ping", "touch", "hostname"):
        (folder / "bin" / name).symlink_to("busybox")
    (folder / "mine").write_text("of the folder\n")
    return folder


@pytest.mark.live
def test_a_folder_is_the_root_of_nodes_and_stays_as_it_is(rootfs: Path, tmp_path: Path) -> None:
    path = scenario(
        tmp_path,
        [*PLACES, (9000, 0)],
        f'phys = 1\nrouting = "shortest"\n[systems.box]\nrootfs = "{rootfs}"\nnodes = ["n1", "n3"]',
    )
    path.write_text(path.read_text() + '[programs.hello]\ncommand = "cat /mine"\nnodes = ["n1"]\n')
    before = {str(each) for each in rootfs.rglob("*")}
    with Emulation(path, hold=True) as emulation:
        assert emulation.run("n1", ["cat", "/mine"]).stdout == "of the folder\n"
        log = ["cat", "/run/headrace/hello.log"]
        until(lambda: emulation.run("n1", log).stdout == "of the folder\n", "a program's output")
        listed = emulation.run("n1", ["ls", "/"]).stdout.split()
        assert listed == ["bin", "dev", "etc", "mine", "proc", "run", "sys", "tmp", "var"]
        assert emulation.run("n1", ["hostname"]).stdout == "n1\n"
        assert emulation.run("n1", ["ping", "-c", "1", "n2"]).returncode == 0
        assert emulation.run("n2", ["ping", "-c", "1", "n1"]).returncode == 0
        assert emulation.run("n1", ["touch", "/bin/new"]).returncode == 0
        assert emulation.run("n1", ["sh", "-c", "echo mine > /mine; cat /mine"]).stdout == "mine\n"
        assert emulation.run("n3", ["cat", "/mine"]).stdout == "of the folder\n"
        assert emulation.run("n2", ["test", "-e", "/mine"]).returncode == 1
        emulation.jam("n1:n2")  # whose routes are taken away by the machine's ip
        assert emulation.run("n1", ["ping", "-c", "1", "-W", "1", "n2"]).returncode != 0
    assert {str(each) for each in rootfs.rglob("*")} == before
    assert (rootfs / "mine").read_text() == "of the folder\n"


@pytest.fixture
def image(rootfs: Path) -> Iterator[str]:
    """The same as an image of podman's."""
    if shutil.which("podman") is None:
        pytest.skip("podman is not installed")
    name = "localhost/headrace-test"
    tar = subprocess.run(["tar", "-cC", str(rootfs), "."], stdout=subprocess.PIPE, check=True).stdout
    done = subprocess.run(["podman", "import", "-", name], input=tar, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"podman doesn't work here: {done.stderr.decode().strip()}")
    yield name
    subprocess.run(["podman", "rmi", "--force", name], capture_output=True, check=False)


@pytest.mark.live
def test_an_image_is_the_root_of_nodes(
    image: str, rootfs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = scenario(tmp_path, PLACES, f'phys = 1\nimage = "{image}"')
    with Emulation(path, hold=True) as emulation:
        for node in ("n1", "n2"):
            assert emulation.run(node, ["cat", "/mine"]).stdout == "of the folder\n"
    kept = [each for each in (tmp_path / "cache/headrace/images").iterdir() if each.is_dir()]
    assert len(kept) == 1 and (kept[0] / "mine").exists()


def test_without_podman_an_image_is_told_before_anything_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(systems.shutil, "which", lambda *_, **__: None)
    assert main(["emulate", "run", str(scenario(tmp_path, PLACES, 'image = "alpine"'))]) == 1
    assert capsys.readouterr().err == "headrace: image alpine: podman is not installed, which fetches images\n"


def test_a_root_that_is_no_folder_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario(tmp_path, PLACES, 'rootfs = "none"')
    assert main(["emulate", "check", str(path)]) == 1
    assert capsys.readouterr().err == f"headrace: {path}:2: rootfs: {tmp_path}/none: not a folder\n"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('rootfs = "a"\nimage = "b"', "2: rootfs: either a rootfs or an image"),
        ("image = 3", "2: image: not a name"),
        ('[systems.a]\nnodes = ["n1"]', "2: systems.a: either a rootfs or an image"),
        ('[systems.a]\nrootfs = "a"\nnodes = ["n9"]', "4: systems.a.nodes: no node n9"),
        ('[systems.a]\nrootfs = "a"\n[systems.b]\nimage = "b"', "systems.b.nodes: n1 has a system already"),
    ],
)
def test_what_is_wrong_is_told_with_line_and_key(more: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(HeadraceError) as raised:
        read(scenario(tmp_path, PLACES, more))
    assert said in str(raised.value)
