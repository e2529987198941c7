"""Flags of written memories lie side by side, and are looked at together."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from headrace.build import toolchain
from headrace.build.written import gather

PORTS = 40
HEADER = (
    "class Vcard_part final {\n  public:\n    // DESIGN SPECIFIC STATE\n    int mem[%d];\n    struct {\n%s    };\n};\n"
)
PCH = (
    '#include <cstdint>\n#include <cstring>\nusing CData = uint8_t;\nusing QData = uint64_t;\n#include "Vcard_part.h"\n'
)


def part(own: bool) -> str:
    """A function that writes each memory whose bit is set; with flags of its own, or the module's."""
    names = [f"__VdlySet__u_ram__DOT__mem__v{n}" for n in range(PORTS)]
    flag = [name if own else f"vlSelfRef.{name}" for name in names]
    lines = [line for name in names for line in (f"CData/*0:0*/ {name};", f"{name} = 0;") if own]
    lines += [f"{name} = 0U;" for name in flag]
    lines += [f"if ((1ULL << {n} & written)) {{\n        {name} = 1U;\n    }}" for n, name in enumerate(flag)]
    lines += [f"if ({name}) {{\n        vlSelfRef.mem[{n}] += {n + 1};\n    }}" for n, name in enumerate(flag)]
    body = "".join(f"    {line}\n" for line in lines)
    head = f"void Vcard_part___nba_{int(own)}(Vcard_part* vlSelf, QData written) {{\n    auto& vlSelfRef = *vlSelf;\n"
    return f"{head}{body}}}\n"


def write(folder: Path, ports: int = PORTS) -> Path:
    flags = "".join(f"        CData/*0:0*/ __VdlySet__u_ram__DOT__mem__v{n};\n" for n in range(ports))
    (folder / "Vcard_part.h").write_text(HEADER % (PORTS, flags))
    (folder / "Vcard__pch.h").write_text(f"#ifndef GUARD\n#define GUARD\n{PCH}#endif  // guard\n")
    source = folder / "Vcard_part__0.cpp"
    source.write_text('#include "Vcard__pch.h"\n' + part(own=False) + part(own=True))
    return source


def test_what_is_written_is_written_with_flags_side_by_side(tmp_path: Path) -> None:
    source = write(tmp_path)
    assert gather(tmp_path, "Vcard") == 4  # 32 flags and 8, of the module and of a function
    text = source.read_text()
    assert "__VdlySet__" not in text + (tmp_path / "Vcard_part.h").read_text()
    assert [int(n) for n in re.findall(r"&vlSelfRef\.__VdlySets\[(\d+)\]", text)] == [0, 32]
    (tmp_path / "main.cpp").write_text(
        '#include <cstdio>\n#include <initializer_list>\n#include "Vcard_part__0.cpp"\nint main() {\n'
        "    for (QData written : {QData{0}, QData{1}, QData{0x8000000001}, ~QData{0}, QData{1} << 33}) {\n"
        "        Vcard_part part{};\n        Vcard_part___nba_0(&part, written);\n"
        "        Vcard_part___nba_1(&part, written);\n        QData sum = 0;\n"
        f"        for (int n = 0; n < {PORTS}; ++n) sum += part.mem[n] * (written >> n & 1 ? 1 : 1000);\n"
        '        std::printf("%d\\n", static_cast<int>(sum));\n    }\n}\n'
    )
    compiler = toolchain.find_compiler()
    subprocess.run([compiler, "-std=c++20", "main.cpp", "-o", "main"], cwd=tmp_path, check=True)
    found = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    every = PORTS * (PORTS + 1)
    assert [int(line) for line in found.split()] == [0, 2, 2 + 2 * PORTS, every, 2 * 34]


def test_few_flags_stay_as_they_are(tmp_path: Path) -> None:
    source = write(tmp_path, ports=3)
    source.write_text("".join(part(own=False).splitlines(keepends=True)[:2]) + "}\n")
    before = {path: path.read_text() for path in tmp_path.iterdir()}
    assert gather(tmp_path, "Vcard") == 0
    assert {path: path.read_text() for path in tmp_path.iterdir()} == before
