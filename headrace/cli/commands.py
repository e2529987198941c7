# SPDX-License-Identifier: Apache-2.0
"""The commands by name, loaded when they are used: a command that works for milliseconds shall not start for longer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

MODULES = {
    "filter": ("filter",),
    "capture": ("capture",),
    "bridge": ("bridge",),
    "rpu": ("rpu",),
    "switch": ("switch",),
    "nic": ("nic",),
    "link": ("link",),
    "vf": ("vf",),
    "measure": ("measure",),
    "extcap": ("extcap",),
    "demo": ("demo",),
    "cards": ("cards", "build", "cache"),
    "synth": ("synth",),
    "export": ("export",),
    "bench": ("bench",),
    "study": ("study",),
    "figures": ("figures",),
    "traffic": ("traffic",),
    "emulate": ("emulate",),
    "new": ("new",),
    "develop": ("lint", "test", "docs", "version"),
    "guide": ("help", "completion"),
}
"""The commands that each module of ``headrace.cli`` registers."""
GROUPS = {
    "Cards": ("filter", "capture", "bridge", "rpu", "switch", "nic", "link", "vf", "emulate"),
    "Look": ("demo", "cards", "measure", "extcap", "traffic"),
    "Evaluate": ("bench", "study", "figures", "synth"),
}
"""The commands in the groups of the help; all others are for those who develop cards."""
_GROUP_OF = {command: group for group, commands in GROUPS.items() for command in commands}
_REST = "Develop"
_MODULE_OF = {command: module for module, commands in MODULES.items() for command in commands}


class Commands(Mapping[str, Any]):
    """typer's commands by name, each made when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        command = registered(_MODULE_OF[name])[name]
        command.rich_help_panel = _GROUP_OF.get(name, _REST)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter((*_GROUP_OF, *(name for name in _MODULE_OF if name not in _GROUP_OF)))

    def __len__(self) -> int:
        return len(_MODULE_OF)


@cache  # a program that calls many commands makes each once
def registered(module: str) -> Mapping[str, Any]:
    """What a module of ``headrace.cli`` registers."""
    app = typer.Typer()
    import_module(f"headrace.cli.{module}").register(app)
    _quicken(app)
    return typer.main.get_group(app).commands


class _Quick:
    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if parameter._runtime_param is None:
                parameter._runtime_param = _Words(parameter.type_descriptor)
        return parameters


class _Command(_Quick, TyperCommand):
    """A command whose words ``_Words`` understands first."""


class _Group(_Quick, TyperGroup):
    """A group of such commands."""


def _quicken(app: typer.Typer) -> None:
    for command in app.registered_commands:
        if not issubclass(command.cls or TyperCommand, _Command):
            command.cls = _Command
    for group in app.registered_groups:
        group.cls = _Group
        if group.typer_instance is not None:
            own = group.typer_instance.info.cls
            group.cls = own if isinstance(own, type) else _Group
            _quicken(group.typer_instance)


class AllCommands(_Group):
    """All commands of ``headrace``."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = Commands()

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Their names; the method that this one replaces loads them all."""
        return list(self.commands)


class _Words:
    """Takes strings and whole numbers as they are; typer does the rest, with pydantic, and says what is wrong."""

    def __init__(self, wanted: Any) -> None:
        self._kind, self._info = wanted.annotation, wanted.parameter_info

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value of a parameter from the words of a command line."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        if self._kind is str and _is_plain(value):
            return value
        if self._kind == list[str] and not isinstance(value, str) and all(map(_is_plain, value)):
            return list(value)
        if self._kind is int and (number := _whole(value)) is not None and self._allows(number):
            return number
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)

    def _allows(self, number: int) -> bool:
        low, high = self._info.min, self._info.max
        return (low is None or low <= number) and (high is None or number <= high)


def _is_plain(value: object) -> bool:
    return isinstance(value, str) and value.isascii()


def _whole(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 20:
        return int(value)
    return value if type(value) is int else None
