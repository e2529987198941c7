# SPDX-License-Identifier: Apache-2.0
"""The cache's folder: who may write there, and files that appear whole."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from headrace.build.models import cache_list
from headrace.cache import cache_folder, cache_root, make_folder, write_atomically
from headrace.cli import main
from headrace.errors import HeadraceError


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("HEADRACE_CACHE", str(folder))
    return folder


def test_without_a_wish_the_cache_lies_in_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADRACE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache_root() == Path("/home/someone/.cache/headrace")
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert cache_root() == Path("/elsewhere/headrace")


def test_new_folders_are_the_users_alone_whatever_the_umask(cache: Path) -> None:
    before = os.umask(0o002)
    try:
        write_atomically(cache_folder("registers") / "map.json", "{}")
    finally:
        os.umask(before)
    assert [folder.stat().st_mode & 0o777 for folder in (cache, cache / "registers")] == [0o700, 0o700]


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o1777])
@pytest.mark.parametrize("inside", ["", "models"])
def test_a_cache_that_others_can_write_to_is_refused(
    cache: Path, mode: int, inside: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (cache / "models").mkdir(parents=True)
    (cache / inside).chmod(mode)
    with pytest.raises(HeadraceError, match=r"others can write to the cache .*: chmod go-w"):
        cache_list()
    assert main(["cache"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_a_folder_that_another_has_made_first_is_refused(cache: Path) -> None:
    folder = cache_folder("models")  # absent, and then
    folder.mkdir(parents=True, mode=0o700)
    cache.chmod(0o777)
    with pytest.raises(HeadraceError, match="others can write to the cache"):
        make_folder(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_cache_of_another_user_is_refused(cache: Path) -> None:
    cache.mkdir(0o700)
    os.chown(cache, 12345, 12345)
    with pytest.raises(HeadraceError, match="belongs to another user, who could change what runs: set HEADRACE_CACHE"):
        cache_folder("models")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has folders of root's")
def test_a_cache_of_roots_is_anybodys(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.mkdir(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert cache_folder("models") == cache / "models"


def test_threads_that_write_the_same_file_do_not_meet(cache: Path) -> None:
    path = cache_folder("registers") / "map.json"
    texts = [str(n) * 5000 for n in range(8)]
    errors: list[BaseException] = []

    def write(text: str) -> None:
        try:
            for _ in range(100):
                write_atomically(path, text)
                assert path.read_text() in texts
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert os.listdir(path.parent) == ["map.json"]


def test_a_file_that_cannot_be_written_leaves_nothing_behind(cache: Path) -> None:
    path = cache_folder("registers") / "map.json"
    path.mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        write_atomically(path, "{}")
    assert os.listdir(path.parent) == ["map.json"]
