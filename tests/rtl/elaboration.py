"""Elaborates a block with slang: what its own checks say of its parameters, and what it consists of.

Each file is parsed once in a process, so that a set of parameters takes milliseconds.
"""

import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pyslang
from pyslang.ast import Compilation, CompilationOptions, InstanceSymbol
from pyslang.syntax import SyntaxTree

from headrace import paths
from headrace.build.description import data_files
from headrace.cache import note_reads
from headrace.registers.compile import generate_rtl
from headrace.synth.sources import Design, module_design

ALSO = {pyslang.Diags.ValueMustBePositive, pyslang.Diags.ReplicationZeroOutsideConcat}  # wrong where a size is 0
USERS = "accel_user"  # the module that a user brings


def refusals(block: str, **parameters: int) -> list[str]:
    """The messages of each `$fatal` that fires at elaboration of `block` with `parameters`, in it or in its parts.

    Raises AssertionError when slang finds an error of another kind.
    """
    compilation = _compilation(block, parameters)
    errors = [found for found in compilation.getSemanticDiagnostics() if found.isError()]
    fatal = [str(found.args[0]).removeprefix(": ") for found in errors if found.code == pyslang.Diags.FatalTask]
    others = [found for found in errors if found.code not in {pyslang.Diags.FatalTask, *ALSO} and found.args != [USERS]]
    assert not others, [(found.code, found.args) for found in others]
    return fatal


def modules(block: str, **parameters: int) -> set[str]:
    """The modules that `block` with `parameters` consists of, its own among them."""
    found: set[str] = set()

    def visit(symbol: object) -> None:
        if isinstance(symbol, InstanceSymbol):
            found.add(symbol.definition.name)

    _compilation(block, parameters).getRoot().visit(visit)
    return found


def _compilation(block: str, parameters: Mapping[str, int]) -> Compilation:
    options = CompilationOptions()
    options.topModules = {block}
    options.paramOverrides = [f"{name}={value}" for name, value in parameters.items()]
    design = _design(block)
    note_reads([*design.files, *data_files(design.files), *design.registers])
    compilation = Compilation(pyslang.Bag([options]))
    for tree in _trees(block):
        compilation.addSyntaxTree(tree)
    return compilation


@cache
def _design(block: str) -> Design:
    return module_design(block, paths.share())


@cache
def _trees(block: str) -> list[SyntaxTree]:
    design = _design(block)
    return [*map(_tree, design.files), *(tree for rdl in design.registers for tree in _registers(rdl))]


@cache
def _tree(file: Path) -> SyntaxTree:
    return SyntaxTree.fromFile(str(file))


@cache
def _registers(rdl: Path) -> list[SyntaxTree]:
    with tempfile.TemporaryDirectory() as folder:
        return [_tree(path) for path in generate_rtl(rdl, Path(folder)) if path.suffix == ".sv"]
