# SPDX-License-Identifier: Apache-2.0
"""Gives the equal instances of a module the same C++.

Verilator writes the functions of each instance anew, since what is around an instance decides in which order its
statements come and what they are called with. Here runs of statements that instances have in common become functions,
which take what differs as arguments: there is less to compile, and a processor's caches hold what all instances share.
"""

from __future__ import annotations

import functools
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headrace.build import written

_LEAST = 800  # characters of a run that is worth a call
_MOST = 12  # arguments of a run, beside variables of the function that it is in
_FILE = 400_000  # characters of a file
_END = "#endif  // guard\n"
_BODY = "    // Body\n"
_TYPE = r"(?:[CSIQ]Data|VlWide<\d+>|VlUnpacked<[^;\n]*>)(?:/\*[\d:-]+\*/)?"
_MEMBER = re.compile(rf"^ +({_TYPE}) (\w+);\n", re.MULTILINE)
_LOCAL = re.compile(rf"^    ({_TYPE}) (\w+);\n(?:    (?:VL_ZERO_W\(\d+, )?\2\b[^\n]*\n)?", re.MULTILINE)
_FLAGS = re.compile(rf"^    CData {written.FLAGS}\[\d+\] = \{{\}};\n", re.MULTILINE)
_CONSTANT = re.compile(r"^extern const [^=;]+;\n", re.MULTILINE)
_INSTANCE = re.compile(r"^ +(\w+) +(TOP\w*);", re.MULTILINE)
_FUNCTION = re.compile(
    r"^(?:VL_\w+ )*void \w+?___\w+?__TOP__(\w+)__\d+\(\w+\* vlSelf\) \{\n(.*?)^\}\n", re.MULTILINE | re.DOTALL
)
_STATEMENT = re.compile(r"^    [^ }\n].*?\n(?=    [^ }\n]|\Z)", re.MULTILINE | re.DOTALL)
_TOKEN = re.compile(
    r"\"(?:[^\"\\\n]|\\.)*\"|'[^']*'|(?:vlSymsp->TOP(?:__\w+)?|vlSelfRef)\.\w+|(?:\.|->)?[A-Za-z_]\w*|\d\w*|\S"
)
_NUMBER = re.compile(r"(?:0x[0-9a-f]+|\d+)U(?:LL)?")
_STAYS = re.compile(r"\bgoto\b|__Vlabel|\"\s+\"")  # jumps, and texts of several literals
_KNOWN = re.compile(
    r"(?:\.|->)\w+|V\w+|[CSIQEW]Data|if|else|while|for|true|false|int|uint32_t|vlSelf|vlSelfRef|vlSymsp|std|string|__\w+__"
)


def share(folder: Path, prefix: str) -> int:
    """Rewrites Verilator's C++ of a model with this prefix in a folder. Returns how many characters that saves."""
    saved = 0
    summary = folder / f"{prefix}.json"
    made = json.loads(summary.read_text())
    of_class = {path.stem: _members(path.read_text()) for path in folder.glob(f"{prefix}_*.h")}
    instances = _INSTANCE.findall((folder / f"{prefix}__Syms.h").read_text())
    types = {f"vlSymsp->{instance}": of_class.get(name, {}) for name, instance in instances}
    for kind in ("fast", "slow"):
        sources = made["sources"].get(f"classes_{kind}", [])
        paths: dict[str, list[Path]] = defaultdict(list)
        for path in (folder / Path(source).name for source in sources):
            paths[re.sub(r"(?:__\d+)?(?:__Slow)?\.cpp$", "", path.name)].append(path)
        for name in sorted(paths.keys() - {f"{prefix}___024root"}):
            own = types | {"vlSelfRef": of_class.get(name, {})}
            module = _Module(name, f"{name}___shared_{kind}", paths[name], own)
            saved += module.share()
            constants = sorted({line for path in paths[name] for line in _CONSTANT.findall(path.read_text())})
            for number, texts in enumerate(_parts(module.texts)):
                file = folder / f"{name}__shared{number}{'__Slow' * (kind == 'slow')}.cpp"
                file.write_text("\n".join((f'#include "{prefix}__pch.h"\n', *constants, *texts)))
                sources.append(str(Path(sources[0]).with_name(file.name)))
            if module.heads:
                header = folder / f"{name}.h"
                header.write_text(header.read_text().replace(_END, "\n".join((*module.heads, "", _END))))
    summary.write_text(json.dumps(made))
    return saved


def _members(text: str) -> dict[str, str]:
    """Types, by name."""
    return {found[2]: found[1] for found in _MEMBER.finditer(text)}


def _parts(texts: Iterable[str]) -> Iterator[list[str]]:
    """Not too much for one file each."""
    part: list[str] = []
    for text in texts:
        if part and sum(map(len, part)) + len(text) > _FILE:
            yield part
            part = []
        part.append(text)
    if part:
        yield part


@dataclass
class _Statement:
    """``keys``: equal for statements that may become one, the second for those that differ more; none: it has to stay.
    ``locals``: which tokens are variables of the function."""

    text: str
    tokens: list[str]
    keys: list[int]
    locals: list[int]


@dataclass
class _Function:
    """One of an instance. ``locals``: types and lines of its variables."""

    path: Path
    instance: str
    text: str
    body: str
    locals: dict[str, tuple[str, str]]
    statements: list[_Statement]
    users: dict[str, list[int]]  # of variables: the numbers of statements
    calls: list[tuple[int, int, str]] = field(default_factory=list)  # instead of the statements from one to another
    gone: set[str] = field(default_factory=set)  # variables that moved, too

    def rewritten(self) -> str:
        texts = [statement.text for statement in self.statements]
        for first, last, call in self.calls:
            texts[first : last + 1] = [call, *[""] * (last - first)]
        text = self.text.replace(self.body, "".join(texts))
        for name in self.gone:
            text = text.replace(self.locals[name][1], "", 1)
        return text


_Place = tuple[int, int]  # of a statement: the function's number, and that in it


class _Run:
    """Statements in a row that instances have in common. ``places``: of each statement, in each instance. ``columns``:
    what differs, or is a variable of the function, by its texts in the instances: at which tokens of which
    statements."""

    def __init__(self, functions: Sequence[_Function], type_of: Callable[[_Function, str], str | None]) -> None:
        self._all, self._type_of = functions, type_of
        self.places: list[list[_Place]] = []
        self.columns: dict[tuple[str, ...], list[tuple[int, int]]] = {}

    @property
    def functions(self) -> list[_Function]:
        """Of each instance."""
        return [self._all[f] for f, _ in self.places[0]] if self.places else []

    @property
    def statements(self) -> list[_Statement]:
        """Of the first instance."""
        return [self._all[places[0][0]].statements[places[0][1]] for places in self.places]

    def add(self, places: list[_Place]) -> bool:
        """Whether a statement could be added."""
        if len(places) < 2 or (self.places and places != [(f, s + 1) for f, s in self.places[-1]]):
            return False
        functions = [self._all[f] for f, _ in places]
        first, *others = rows = [self._all[f].statements[s].tokens for f, s in places]
        differing = set(functions[0].statements[places[0][1]].locals)
        for row in others:
            if row != first:
                differing.update(t for t, (text, other) in enumerate(zip(first, row, strict=True)) if text != other)
        columns = dict(self.columns)
        for t in sorted(differing):
            texts = tuple(row[t] for row in rows)
            if texts not in columns:
                kinds = {self._type_of(function, text) for function, text in zip(functions, texts, strict=True)}
                if len(kinds) > 1 or None in kinds:
                    return False
            columns[texts] = [*columns.get(texts, ()), (len(self.places), t)]
        variables = [texts for texts in columns if texts[0] in functions[0].locals]
        if any(len(set(names)) < len(variables) for names in zip(*variables, strict=True)):
            return False
        if len(columns) - len(variables) > _MOST:
            return False
        self.places.append(places)
        self.columns = columns
        return True


class _Module:
    """A module of several instances. ``texts``: the functions that they share; ``heads``: what declares them."""

    def __init__(self, owner: str, name: str, paths: Iterable[Path], types: dict[str, dict[str, str]]) -> None:
        self.heads: list[str] = []
        self.texts: list[str] = []
        self._owner, self._name, self._types = owner, name, types
        self._functions = [function for path in sorted(paths) for function in _functions(path)]

    def share(self) -> int:
        """Moves what instances have in common. Returns how many characters that saves."""
        places: dict[str, dict[int, list[_Place]]] = defaultdict(lambda: defaultdict(list))
        for f, function in enumerate(self._functions):
            for s, statement in enumerate(function.statements):
                for key in statement.keys:
                    places[function.instance][key].append((f, s))
        unique = {name: {key: at[0] for key, at in of.items() if len(at) == 1} for name, of in places.items()}
        saved = 0
        moved: set[_Place] = set()
        for f, function in enumerate(self._functions):
            run = _Run(self._functions, self._type_of)
            for s, statement in enumerate(function.statements):
                found: list[_Place] = []
                if (f, s) not in moved:
                    for key in (key for key in statement.keys if key in unique[function.instance]):
                        others = (of.get(key) for name, of in unique.items() if name != function.instance)
                        found = max(found, [place for place in others if place and place not in moved], key=len)
                if not run.add([(f, s), *found]):
                    saved += self._move(run, moved)
                    run = _Run(self._functions, self._type_of)
                    run.add([(f, s), *found])
            saved += self._move(run, moved)
        changed: dict[Path, str] = {}
        for function in (function for function in self._functions if function.calls):
            text = changed.get(function.path) or function.path.read_text()
            changed[function.path] = text.replace(function.text, function.rewritten())
        for path, text in changed.items():
            path.write_text(text)
        return saved

    def _type_of(self, function: _Function, token: str) -> str | None:
        """How an argument for it is declared; None: not known."""
        if token[0] == '"':
            return "const char* const"
        if _NUMBER.fullmatch(token):
            return "QData const" if token.endswith("ULL") else "IData const"
        if token in function.locals:
            return function.locals[token][0]
        owner, _, name = token.rpartition(".")
        return f"{self._types[owner][name]}&" if name in self._types.get(owner, ()) else None

    def _move(self, run: _Run, moved: set[_Place]) -> int:
        """Makes it a function, if that is worth it."""
        size = sum(len(statement.text) for statement in run.statements)
        if size < _LEAST:
            return 0
        moved.update(place for places in run.places for place in places)
        functions, name = run.functions, f"{self._name}_{len(self.texts)}"
        spans = [(first[1], last[1]) for first, last in zip(run.places[0], run.places[-1], strict=True)]
        arguments, inside = [f"{self._owner}* vlSelf"], ""
        actual = [["vlSelf"] for _ in functions]
        renamed: dict[tuple[int, int], str] = {}
        for texts, where in run.columns.items():
            new, kind = texts[0], self._type_of(functions[0], texts[0])
            if new not in functions[0].locals:
                new = f"__Vargument{len(arguments)}"
                renamed |= dict.fromkeys(where, new)
            elif all(
                first <= of.users[text][0] and of.users[text][-1] <= last
                for of, text, (first, last) in zip(functions, texts, spans, strict=True)
            ):
                inside += functions[0].locals[new][1]
                for of, text in zip(functions, texts, strict=True):
                    of.gone.add(text)
                continue
            arguments.append(f"{kind} {new}")
            for row, text in zip(actual, texts, strict=True):
                row.append(text)
        head = f"void {name}({', '.join(arguments)})"
        self.heads.append(f"{head} __attribute__((noinline));")
        self.texts.append(
            f"{head} {{\n"
            "    auto* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;\n"
            "    auto& vlSelfRef VL_ATTR_UNUSED = std::ref(*vlSelf).get();\n"
            f"{inside}{''.join(_renamed(run.statements, renamed))}}}\n"
        )
        for of, (first, last), row in zip(functions, spans, actual, strict=True):
            of.calls.append((first, last, f"    {name}({', '.join(row)});\n"))
        return size * (len(functions) - 1)


def _renamed(statements: Iterable[_Statement], names: dict[tuple[int, int], str]) -> Iterator[str]:
    """Their text, with other names for tokens of statements."""
    changing = {n for n, _ in names}
    for n, statement in enumerate(statements):
        if n in changing:
            new, at = "", 0
            for t, found in enumerate(_TOKEN.finditer(statement.text)):
                if (n, t) in names:
                    new += statement.text[at : found.start()] + names[n, t]
                    at = found.end()
            yield new + statement.text[at:]
        else:
            yield statement.text


def _functions(path: Path) -> Iterator[_Function]:
    """Of a file, where they look as expected."""
    for found in _FUNCTION.finditer(path.read_text()):
        before, _, body = found[2].partition(_BODY)
        variables = {one[2]: (f"{one[1]}&", one[0]) for one in _LOCAL.finditer(before)}
        if flags := _FLAGS.search(before):
            variables[written.FLAGS] = "CData* const", flags[0]
        statements = [_statement(one[0], variables) for one in _STATEMENT.finditer(body)]
        users: dict[str, list[int]] = defaultdict(list)
        for s, statement in enumerate(statements):
            for t in statement.locals:
                users[statement.tokens[t]].append(s)
        if body and "".join(statement.text for statement in statements) == body:
            yield _Function(path, found[1], found[0], body, variables, statements, users)


def _statement(text: str, variables: dict[str, tuple[str, str]]) -> _Statement:
    tokens = _TOKEN.findall(text)
    own = [t for t, token in enumerate(tokens) if token in variables]
    kinds = [("local", "local") if token in variables else _kinds(token) for token in tokens]
    keys = []
    if None not in kinds and not _STAYS.search(text) and text.count("{") == text.count("}"):
        keys = [hash(tuple(kind and kind[n] for kind in kinds)) for n in range(1 + (len(text) >= _LEAST))]
    return _Statement(text, tokens, keys, own)


@functools.cache
def _kinds(token: str) -> tuple[str, str] | None:
    """What stands for it in a statement's keys; None: nobody knows what it is."""
    if token[0] == '"':
        return "text", "text"
    if token.startswith(("vlSymsp->TOP", "vlSelfRef.__VdfgRegularize")):
        return "member", "member"
    if token.startswith("vlSelfRef."):
        return token, "member"
    if _NUMBER.fullmatch(token):
        return token, "number"
    return (token, token) if not re.match(r"[A-Za-z_]", token) or _KNOWN.fullmatch(token) else None
