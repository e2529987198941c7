"""The harness's C interface (sim/headrace.h), loaded with cffi from libheadrace."""

from __future__ import annotations

import functools
import inspect
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from headrace import cache as cachedir
from headrace import paths
from headrace.build.declarations import declared
from headrace.errors import CardError, HeadraceError

T = TypeVar("T")


@functools.cache
def interface() -> Any:
    """The declarations of sim/headrace.h: its lines without the preprocessor's."""
    text = (paths.sim() / "headrace.h").read_text()
    plain = []
    skipping = False
    for line in text.splitlines():
        if line.startswith("#ifdef __cplusplus"):
            skipping = True
        elif skipping and line.startswith("#endif"):
            skipping = False
        elif not skipping and not line.startswith("#"):
            plain.append(line)
    return declared("headrace", "\n".join(plain))


def text(words: str | Path) -> bytes:
    """A text for the C interface, or a path as the system knows it. Raises CardError when C would cut it short."""
    data = os.fsencode(words)
    if b"\0" in data:
        raise CardError(f"{str(words)!r}: there is a NUL in it", 2)
    return data


def whole(number: float) -> int:
    """The nearest whole number. Raises OverflowError when there is none."""
    if not math.isfinite(number):
        raise OverflowError(f"{number} is no number")
    return round(number)


def in_range(cls: type[T]) -> type[T]:
    """Class decorator: a number that the C interface has no room for is a CardError (exit code 2) of the method."""
    for name, method in list(vars(cls).items()):
        if inspect.isfunction(method) and _takes_numbers(method) and (name == "__init__" or not name.startswith("_")):
            setattr(cls, name, _in_range(method, cls.__name__ if name == "__init__" else name))
    return cls


def _takes_numbers(method: Callable[..., Any]) -> bool:
    """Whether a method has arguments, beside itself."""
    code = method.__code__
    return code.co_argcount + code.co_kwonlyargcount > 1


def _in_range(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(method)
    def checked(*arguments: Any, **named: Any) -> Any:
        try:
            return method(*arguments, **named)
        except OverflowError as error:
            raise CardError(f"{name}: out of range: {error}", 2) from None

    return checked


@functools.cache
def load(library: Path) -> Any:
    """The functions and constants of the harness in a library. Raises HeadraceError when it can't be loaded."""
    try:
        return interface().dlopen(str(cachedir.trusted(library)))
    except OSError as error:
        raise HeadraceError(f"can't load the harness: {error}; headrace cache --clear removes it") from None
