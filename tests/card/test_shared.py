"""Instances of a module share code, and compute what they did before."""

from __future__ import annotations

import json
import random
import re
import subprocess
from pathlib import Path

import pytest

from headrace.build import shared, toolchain

SIZE = 60  # members and statements
PCH = """\
#ifndef GUARD
#define GUARD
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
using CData = uint8_t;
using IData = uint32_t;
using QData = uint64_t;
#define VL_ATTR_UNUSED
void VL_SAY(const std::string& what);
#include "Vcard__Syms.h"
#endif  // guard
"""
SYMS = """\
#include "Vcard___024root.h"
#include "Vcard_part.h"
class Vcard__Syms {
  public:
    Vcard___024root TOP;
    Vcard_part TOP__0;
    Vcard_part TOP__1;
};
"""
HEADER = """\
#ifndef %(name)s_H
#define %(name)s_H  // guard
class Vcard__Syms;
class %(name)s final {
  public:
%(members)s
    Vcard__Syms* vlSymsp;
};
#endif  // guard
"""
MAIN = """\
#include "Vcard__pch.h"
static QData heard = 0;
void VL_SAY(const std::string& what) { for (char c : what) heard = heard * 31 + c; }
int main() {
    Vcard__Syms syms{};
    syms.TOP__0.vlSymsp = syms.TOP__1.vlSymsp = &syms;
    for (int cycle = 0; cycle < 50; ++cycle) {
        syms.TOP.m0 = cycle * 77;
        Vcard_part___nba_sequent__TOP__0__0(&syms.TOP__0);
        Vcard_part___nba_sequent__TOP__1__0(&syms.TOP__1);
    }
    for (Vcard_part* part : {&syms.TOP__0, &syms.TOP__1}) {
        for (IData* at = &part->m0; at <= &part->__VdfgRegularize_h0_1; ++at) std::printf("%u ", *at);
    }
    std::printf("%llu\\n", static_cast<unsigned long long>(heard));
}
"""


def statements(rng: random.Random) -> list[list[str]]:
    """For two instances. They differ in numbers, neighbours, texts, and names of variables and temporaries; some differ
    altogether, and some are at other places."""
    made: list[list[str]] = []
    for n in range(SIZE):
        a, b, c = (f"vlSelfRef.m{rng.randrange(SIZE)}" for _ in range(3))
        kind, local = rng.randrange(7), rng.randrange(4)
        pair = []
        for instance in (0, 1):
            temporary = f"vlSelfRef.__VdfgRegularize_h0_{instance}"
            name, number = f"__Vlocal_{local}_{instance}", f"{3 + instance}U"
            pair.append(
                {
                    0: f"vlSelfRef.m{n} = ({a} * {b}) + {number};",
                    1: f"{name} = ({a} ^ vlSymsp->TOP.m{instance});",
                    2: f"vlSelfRef.m{n} = ({b} + {name});",
                    3: f"if (({a} & 2U)) {{\n        {temporary} = ({b} >> {number});\n    }}",
                    4: f"if (({a} & 1U)) {{\n        {c} = {temporary};\n    }} else {{\n        {b} += 7U;\n    }}",
                    5: f'if (({a} & {n}U)) {{\n        VL_SAY("instance {instance}");\n    }}',
                    6: f"vlSelfRef.m{n} = {a if instance else b};",
                }[kind]
            )
        made.append(pair)
    instances = [[pair[instance] for pair in made] for instance in (0, 1)]
    for _ in range(2):
        at = rng.randrange(SIZE - 1)
        instances[1][at : at + 2] = reversed(instances[1][at : at + 2])
    return instances


def write(folder: Path, rng: random.Random) -> None:
    members = "".join(f"    IData/*31:0*/ m{n};\n" for n in range(SIZE))
    members += "".join(f"    IData/*31:0*/ __VdfgRegularize_h0_{n};\n" for n in (0, 1))
    heads = ""
    functions = ""
    for instance, body in enumerate(statements(rng)):
        head = f"void Vcard_part___nba_sequent__TOP__{instance}__0(Vcard_part* vlSelf)"
        variables = "".join(
            f"    IData/*31:0*/ __Vlocal_{n}_{instance};\n    __Vlocal_{n}_{instance} = 0;\n" for n in range(4)
        )
        text = "".join(f"    {statement}\n" for statement in body)
        functions += (
            f"{head} {{\n    Vcard__Syms* const vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;\n"
            f"    auto& vlSelfRef = *vlSelf;\n    // Locals\n{variables}    // Body\n{text}}}\n\n"
        )
        heads += f"{head};\n"
    folder.mkdir()
    (folder / "Vcard_part.h").write_text(
        (HEADER % {"name": "Vcard_part", "members": members}).replace("#endif", f"{heads}#endif")
    )
    (folder / "Vcard___024root.h").write_text(HEADER % {"name": "Vcard___024root", "members": members})
    (folder / "Vcard__Syms.h").write_text(SYMS)
    (folder / "Vcard__pch.h").write_text(PCH)
    (folder / "Vcard_part__0.cpp").write_text(f'#include "Vcard__pch.h"\n\n{functions}')
    (folder / "main.cpp").write_text(MAIN)
    (folder / "Vcard.json").write_text(json.dumps({"sources": {"classes_fast": ["model/Vcard_part__0.cpp"]}}))


def run(folder: Path) -> str:
    sources = json.loads((folder / "Vcard.json").read_text())["sources"]["classes_fast"]
    included = [f"-include{Path(source).name}" for source in sources]
    subprocess.run(
        [toolchain.find_compiler(), "-std=c++20", *included, "main.cpp", "-o", "main"], cwd=folder, check=True
    )
    return subprocess.run([folder / "main"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("seed", range(2))
def test_instances_compute_what_they_did_before(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "_LEAST", 60)  # so that there is much to be shared in a small module
    before, after = tmp_path / "before", tmp_path / "after"
    for folder in (before, after):
        write(folder, random.Random(seed))
    saved = shared.share(after, "Vcard")
    texts = [path.read_text() for path in sorted(after.glob("Vcard_part__*.cpp"))]
    assert len(texts) == 2 and saved > 500
    calls = [set(re.findall(r"^    (Vcard_part___shared\w+)\(", part, re.M)) for part in texts[0].split("__TOP__1__0(")]
    assert calls[0] == calls[1] == set(re.findall(r"^void (\w+)", texts[1], re.M))
    assert run(after) == run(before)


def test_what_differs_in_all_stays(tmp_path: Path) -> None:
    write(tmp_path / "part", random.Random(0))
    source = tmp_path / "part" / "Vcard_part__0.cpp"
    source.write_text(source.read_text().partition("\n\nvoid")[0])
    files = {path: path.read_text() for path in source.parent.iterdir() if path.suffix != ".json"}
    assert shared.share(source.parent, "Vcard") == 0
    assert {path: path.read_text() for path in files} == files
