# SPDX-License-Identifier: Apache-2.0
"""The wrapper of a block with plain ports, its shell in Verilog, and templates that show how to instantiate it."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.export.expressions import bracketed, high, verilog_number
from headrace.export.interface import Interface, Parameter, Part, Port

_LICENCE = "// SPDX-License-Identifier: Apache-2.0"
_LOCAL = "_own"  # behind the name of a port's signal of the block's own type


def wrapper_name(top: str) -> str:
    """The module with plain ports."""
    return f"{top}_flat"


def shell_name(top: str) -> str:
    """The same module once more, in Verilog: for tools that take no SystemVerilog at the top."""
    return f"{top}_ip"


def wrapper(top: str, interface: Interface) -> str:
    """SystemVerilog of the module with plain ports, which is nothing but the block and wires."""
    lines = [
        _LICENCE,
        f"// {top} with plain ports: a field of a structure is a port of its own, an array one vector with element 0",
        "// in the lowest bits. It holds nothing but the block.",
        *_head(wrapper_name(top), interface),
    ]
    typed = [port for port in interface.ports if port.type]
    for port in typed:
        lines.append(f"  {port.type} {port.name}{_LOCAL}{f' {port.array}' if port.array else ''};")
    for port in typed:
        for part in port.parts:
            lines += _assignment(port, part)
    connected = [f".{port.name}({port.name}{_LOCAL if port.type else ''})" for port in interface.ports]
    lines += ["", *_instance(top, f"u_{top}", interface.parameters, connected), "", "endmodule"]
    return "\n".join(lines) + "\n"


def shell(top: str, interface: Interface) -> str:
    """Verilog-2005 of the same, around the wrapper."""
    connected = [f".{part.name}({part.name})" for part in interface.parts]
    lines = [
        _LICENCE,
        f"// {wrapper_name(top)} in Verilog, for tools that take no SystemVerilog file at the top.",
        *_head(shell_name(top), interface),
        *_instance(wrapper_name(top), "u_flat", interface.parameters, connected),
        "",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _head(name: str, interface: Interface) -> list[str]:
    parameters = _listed(_declaration(parameter) for parameter in interface.parameters)
    ports = _listed(f"{part.direction:<6} wire {_range(part):<12} {part.name}" for part in interface.parts)
    if not parameters:
        return [f"module {name} (", *ports, ");", ""]
    return [f"module {name} #(", *parameters, ") (", *ports, ");", ""]


def _listed(items: Iterable[str]) -> list[str]:
    items = list(items)
    return [f"    {item}{',' if number < len(items) else ''}" for number, item in enumerate(items, 1)]


def _declaration(parameter: Parameter) -> str:
    kind = {None: "", 0: "integer "}.get(parameter.width, f"[{(parameter.width or 1) - 1}:0] ")
    return f"parameter {kind}{parameter.name} = {parameter.default}"


def _range(part: Part) -> str:
    return "" if part.size == "1" else f"[{high(part.size)}:0]"


def _assignment(port: Port, part: Part) -> list[str]:
    """Between a plain port and its place in the port of the block."""
    indent, lines = "  ", []
    offset = "0"
    for number, (count, _) in enumerate(part.loops):
        label = f"gen_{part.name}{number or ''}"
        lines.append(f"{indent}for (genvar i{number} = 0; i{number} < {count}; i{number}++) begin : {label}")
        offset = f"i{number}" if offset == "0" else f"({offset}) * {bracketed(count)} + i{number}"
        indent += "  "
    own = f"{port.name}{_LOCAL}{part.path}"
    plain = part.name
    if part.loops and part.element == "1":
        plain += f"[{offset}]"
    elif part.loops:
        plain += f"[{bracketed(offset)} * {bracketed(part.element)} +: {part.element}]"
    if port.direction == "input":
        value = f"{part.cast}'({plain})" if part.cast else plain
        lines.append(f"{indent}assign {own} = {value};")
    else:
        lines.append(f"{indent}assign {plain} = {own};")
    for number in reversed(range(len(part.loops))):
        lines.append(f"  {'  ' * number}end")
    return lines


def _instance(module: str, name: str, parameters: Iterable[Parameter], ports: Iterable[str]) -> list[str]:
    given = _listed(f"  .{parameter.name}({parameter.name})" for parameter in parameters)
    connected = _listed(f"  {port}" for port in ports)
    if not given:
        return [f"  {module} {name} (", *connected, "  );"]
    return [f"  {module} #(", *given, f"  ) {name} (", *connected, "  );"]


def verilog_template(top: str, interface: Interface) -> str:
    """How to instantiate the wrapper in Verilog, with widths as they are with the chosen parameters."""
    wires = [f"wire {f'[{part.bits - 1}:0] ' if part.size != '1' else ''}{part.name};" for part in interface.parts]
    values = _listed(f".{p.name}({_value(p)})" for p in interface.parameters)
    ports = _listed(f".{part.name}({part.name})" for part in interface.parts)
    head = [f"{wrapper_name(top)} #(", *values, f") u_{top} ("] if values else [f"{wrapper_name(top)} u_{top} ("]
    lines = [
        _LICENCE,
        f"// To copy: an instance of {top} with plain ports.",
        *wires,
        "",
        *head,
        *ports,
        ");",
    ]
    return "\n".join(lines) + "\n"


def _value(parameter: Parameter) -> str:
    if parameter.width is None:
        return parameter.default
    return verilog_number(int(parameter.value), parameter.width)


def vhdl_template(top: str, interface: Interface) -> str:
    """The same in VHDL: a component with the chosen parameters, and an instance of it."""
    name = wrapper_name(top)
    generics = [_generic(parameter) for parameter in interface.parameters]
    directions = {"input": "in", "output": "out", "inout": "inout"}
    ports = [f"{part.name} : {directions[part.direction]} {_vhdl_type(part)}" for part in interface.parts]
    lines = [
        _LICENCE.replace("//", "--"),
        f"-- To copy: {top} with plain ports. Widths are those with the generics' values here.",
        f"component {name} is",
        *(["  generic (", *_vhdl_list(generics), "  );"] if generics else []),
        "  port (",
        *_vhdl_list(ports),
        "  );",
        "end component;",
        "",
        *(f"signal {part.name} : {_vhdl_type(part)};" for part in interface.parts),
        "",
        f"u_{top} : {name}",
        "  port map (",
        *(f"  {line}" for line in _listed(f"{part.name} => {part.name}" for part in interface.parts)),
        "  );",
    ]
    return "\n".join(lines) + "\n"


def _vhdl_list(items: list[str]) -> list[str]:
    return [f"    {item}{';' if number < len(items) else ''}" for number, item in enumerate(items, 1)]


def _generic(parameter: Parameter) -> str:
    if parameter.width is None:
        return f"{parameter.name} : string := {parameter.default}"
    if parameter.width == 0:
        return f"{parameter.name} : integer := {parameter.value}"
    bits = f"{int(parameter.value):0{parameter.width}b}"
    return f'{parameter.name} : std_logic_vector({parameter.width - 1} downto 0) := "{bits}"'


def _vhdl_type(part: Part) -> str:
    return "std_logic" if part.size == "1" else f"std_logic_vector({part.bits - 1} downto 0)"
