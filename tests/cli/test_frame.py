# SPDX-License-Identifier: Apache-2.0
"""The frame of the command line: groups, versions, help of commands, completion in shells, man pages."""

from __future__ import annotations

import os
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
import typer
from called import call

from headrace import paths
from headrace.cli import app, commands, completion, manual
from headrace.cli.commands import GROUPS, Commands


def test_the_help_lists_each_command_once_and_in_its_group() -> None:
    shown = call("--help").stdout
    names = [name for line in shown.splitlines() if (name := line[2:].partition(" ")[0]) in Commands()]
    assert sorted(names) == sorted(Commands()) and names == list(Commands())
    panels = [line.split()[1] for line in shown.splitlines() if line.startswith("╭")]
    assert panels == ["Options", *GROUPS, "Develop"]
    assert set().union(*GROUPS.values()) < set(Commands())


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_one_line(option: str) -> None:
    version = tomllib.loads((paths.share() / "pyproject.toml").read_text())["project"]["version"]
    assert call(option).stdout == f"headrace {version}\n"
    assert call("version").stdout.startswith(f"headrace {version}\nverilator ")


def test_help_shows_what_the_option_shows() -> None:
    for words in ([], ["filter"], ["switch", "run"]):
        assert call("help", *words).stdout == call(*words, "--help").stdout
    wrong = call("help", "nosuch")
    assert (wrong.returncode, wrong.stderr) == (2, "headrace: No such command 'nosuch'.\n")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("headrace fi", ["filter", "figures"]),
        ("headrace vf li", ["list"]),
        ("headrace --v", ["--version"]),
        ("headrace filter --ti", ["--timestamps"]),
        ("headrace filter --rate l", ["lossless", "line"]),
        ("headrace capture -i ", ["iface:", "xdp:", "tap:", "eth0", "lo"]),
        ("headrace capture -i iface:e", ["iface:eth0"]),
        ("headrace filter 'tcp port 80' xdp:", ["xdp:eth0", "xdp:lo"]),
        ("headrace nic run --port 0=if", ["0=iface:"]),
        ("headrace nic run --port 0=iface:l", ["0=iface:lo"]),
        ("headrace traffic triangle --interface e", ["eth0"]),
        ("headrace build f", ["filter"]),
        ("headrace lint n", ["nic"]),
        ("headrace filter -P CO", ["CORES="]),
        ("headrace build nic -P PO", ["PORTS="]),
        ("headrace filter -P DATA_W=5", ["DATA_W=512"]),
        ("headrace help switch ru", ["run"]),
        ("headrace completion z", ["zsh"]),
        ("headrace filter arp in.pc", []),
        ("headrace filter -w ", []),
        ("headrace filter 'tcp po", []),
        ("headrace nosuch x", []),
    ],
)
def test_words_are_completed(
    line: str, found: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(completion.socket, "if_nameindex", lambda: [(2, "eth0"), (1, "lo")])
    assert completion.answer(typer.main.get_group(app), "fish", line) == 0
    assert [shown.partition("\t")[0] for shown in capsys.readouterr().out.splitlines()] == found


def test_all_commands_are_there_before_a_letter_is_and_none_is_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands.registered.cache_clear()
    monkeypatch.setattr(commands, "import_module", None)
    completion.answer(typer.main.get_group(app), "bash", "headrace ")
    assert capsys.readouterr().out.split() == list(Commands())


def test_zsh_gets_colons_that_part_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    completion.answer(typer.main.get_group(app), "zsh", "headrace capture -i xd")
    assert capsys.readouterr().out == "xdp\\::\n"


def test_bash_completes_behind_a_colon_and_writes_no_space_behind_an_equals_sign(tmp_path: Path) -> None:
    command = tmp_path / "headrace"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(paths.command())} "$@"\n')
    command.chmod(0o755)
    script = (
        call("completion", "bash").stdout
        + """
compopt() { echo "$@"; }
for COMP_LINE in 'headrace capture -i iface:l' 'headrace filter -P COR'; do
    COMP_POINT=${#COMP_LINE}
    _headrace headrace
    echo "${COMPREPLY[0]}"
done
"""
    )
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    bash = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert bash.stdout.splitlines() == ["lo", "-o nospace", "CORES="]


def test_a_script_is_installed_where_its_shell_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    place = tmp_path / ".config/fish/completions/headrace.fish"
    assert call("completion", "--install").stdout == f"{place}: new shells complete headrace\n"
    assert place.read_text() == call("completion").stdout
    wrong = call("completion", "tcsh")
    assert (wrong.returncode, wrong.stderr) == (2, "headrace: tcsh: none of bash, zsh, fish\n")


def test_man_pages_have_each_command_and_no_faults(tmp_path: Path) -> None:
    folder = tmp_path / "man1"
    assert call("docs", "--man", folder).stdout == f"{folder}: {len(dict(manual.pages()))} pages\n"
    assert '.TH "HEADRACE\\-SWITCH\\-RUN" "1"' in (folder / "headrace-switch-run.1").read_text()
    for name in Commands():
        assert f"\\fBheadrace\\-{name}\\fR(1)" in (folder / "headrace.1").read_text()
    groff = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", *sorted(folder.iterdir())], capture_output=True, text=True, check=True
    )
    assert groff.stderr == "" and "headrace switch run" in groff.stdout
