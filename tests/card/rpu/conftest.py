"""Programs of RPUs in the instruction model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.cards.rpu import program

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def build(tmp_path: Path, session_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Build]:
    """Builds C text, or a program by its name; the compiler has nothing to say about it, unless `silent` is false."""
    monkeypatch.setenv("HEADRACE_CACHE", str(session_cache))

    def make(*texts: str, silent: bool = True, **options: object) -> Path:
        sources: list[Path | str] = []
        for number, text in enumerate(texts):
            if text in program.programs():
                sources.append(text)
                continue
            sources.append(tmp_path / f"part{number}.c")
            (tmp_path / f"part{number}.c").write_text(text)
        said: list[str] = []
        made = program.build(sources, said=said.append, **options)  # type: ignore[arg-type]
        assert not silent or said == []
        return made

    yield make
