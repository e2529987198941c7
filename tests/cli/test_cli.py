"""The command line as a whole: help, exit codes, one-line errors, signals."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from patience import until

from headrace.cli import commands, main
from headrace.errors import HeadraceError
from headrace.evaluate.bench import MEASURED, WALL_CLOCK, Row
from headrace.evaluate.bench.groups import ALL

COMMANDS = ["filter", "measure", "cards", "build", "cache", "synth", "bench", "version"]
LINK = ["run", "set", "stats"]
EMULATE = ["new", "check", "plan", "sweep", "run", "status", "traffic", "step", "hold", "exec", "shell", "capture"]
EMULATE += ["jam", "dashboard", "stop"]
HEADRACE = [sys.executable, "-c", "import sys; from headrace.cli import main; sys.exit(main())"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    yield


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(command in text for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    out, err = capsys.readouterr()
    assert "Usage: headrace" in out
    assert err == ""


@pytest.mark.parametrize("command", [c for c in COMMANDS if c != "version"])
def test_help_gives_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([command, "--help"])
    assert f"headrace {command}" in capsys.readouterr().out.split("Example")[1]


@pytest.mark.parametrize("command", [f"link {c}" for c in LINK] + [f"emulate {c}" for c in EMULATE])
def test_help_of_links_and_emulations_gives_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([*command.split(), "--help"])
    assert f"headrace {command.removesuffix(' run')}" in capsys.readouterr().out.split("Examples:")[1]


def test_the_table_of_commands_is_what_the_modules_register() -> None:
    there = [p.stem for p in Path(commands.__file__).parent.glob("*.py") if "def register(" in p.read_text()]
    assert sorted(there) == sorted(commands.MODULES)
    for module, names in commands.MODULES.items():
        assert tuple(commands.registered(module)) == names


def test_a_command_that_is_almost_one_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fliter"]) == 2
    assert "No such command 'fliter'. Did you mean 'filter'" in capsys.readouterr().err


def loaded_by(*arguments: str) -> set[str]:
    """The modules that a command line leaves loaded."""
    code = f"import sys; from headrace.cli import main; main({arguments}); print(*sys.modules, file=sys.stderr)"
    return set(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stderr.split())


def test_a_command_loads_what_it_needs_and_no_other_command() -> None:
    command = ("filter", "-d", "-s", "96", "tcp port 80")
    loaded_by(*command)  # now libpcap's declarations are parsed
    loaded = loaded_by(*command)
    assert "headrace.cli.filter" in loaded
    assert not {"cffi", "pycparser", "pydantic", "rich", "importlib.metadata", "headrace.cli.capture"} & loaded


def test_help_loads_nothing_that_takes_long() -> None:
    loaded = loaded_by("--help")
    assert "typer" in loaded
    assert not {"matplotlib", "numpy", "scapy", "systemrdl", "distributed", "cffi", "pyosys"} & loaded


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frob"], "headrace: No such command 'frob'."),
        (["filter", "-c", "0", "tcp", "in.pcap"], "headrace: Invalid value for '-c': "),
        (["filter", "-c", "9" * 5000, "tcp", "in.pcap"], "headrace: "),
        (["filter", "-c", "many", "tcp", "in.pcap"], "headrace: Invalid value for '-c': "),
        (["filter", "-s", "262145", "tcp", "in.pcap"], "headrace: Invalid value for '-s': "),
        (["filter", "--frob"], "headrace: No such option: --frob"),
        (["cards", "more"], "headrace: Got unexpected extra argument(s) (more)"),
        (["build"], "headrace: Missing argument 'CARD'."),
        (["build", "nothing"], "headrace: no card 'nothing'"),
        (["build", "filter", "-P", "CORES=1000"], "headrace: parameter CORES = 1000: must be 1 to 64"),
        (["build", "filter", "-P", "CORES"], "headrace: -P CORES: not NAME=VALUE"),
        (["synth", "filter", "--target", "z80"], "headrace: unknown target z80"),
        (
            ["bench", "frob"],
            "headrace: bench frob: none of filter, capture, bridge, rpu, switch, host, emulator, size, stream, sim, "
            "live, conformance, switch-fit, host-fit, rpu-fit, bridge-fit, stream-fit, size-fit, all, cost",
        ),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(message)
    assert err.count("\n") == 1


def test_no_command_shows_the_help_and_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert "Usage: headrace" in out + err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (HeadraceError("the card is on fire"), 1, "headrace: the card is on fire\n"),
        (HeadraceError("not like this", 2), 2, "headrace: not like this\n"),
        (OSError(28, "No space left on device", "out.pcap"), 1, "headrace: out.pcap: No space left on device\n"),
        (KeyboardInterrupt(), 130, "headrace: interrupted\n"),
    ],
)
def test_what_goes_wrong_inside_is_one_line(
    error: BaseException, code: int, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr("headrace.build.description.list_cards", fail)
    assert main(["cards"]) == code
    assert capsys.readouterr().err == line


def test_cards_are_listed_with_their_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cards", "--json"]) == 0
    cards = {card["name"]: card for card in json.loads(capsys.readouterr().out)}
    assert cards["filter"]["ports"] == 3
    assert cards["filter"]["parameters"]["CORES"] == {"default": 8, "allowed": "1 to 64", "help": "filter cores"}
    assert main(["cards"]) == 0
    assert "CORES=8" in capsys.readouterr().out


def test_bench_shows_rows_and_fails_when_one_is_missed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    met = Row("filter", "uninspected at 60 bytes", "0", 0, "packets", True, MEASURED, "8 cores")
    missed = Row("sim", "64-byte packets", ">= 150,000", 149_000.5, "packets/s", False, WALL_CLOCK)
    asked: list[Any] = []

    def run(groups: list[str], *options: Any) -> list[Row]:
        asked.append((groups, *options[:2]))
        return [met, missed] if "sim" in groups else [met]

    monkeypatch.setattr("headrace.evaluate.bench.groups.run", run)
    assert main(["bench", "filter", "--full", "--dask", "tcp://host:1"]) == 0
    assert main(["bench"]) == 1
    out = capsys.readouterr().out
    assert all(text in out for text in ("uninspected at 60 bytes", "8 cores", "149,0", "missed", "wall clock"))
    assert asked == [(["filter"], True, "tcp://host:1"), *(([group], False, None) for group in ALL)]
    assert main(["bench", "sim", "--json"]) == 1
    assert [row["ok"] for row in json.loads(capsys.readouterr().out)] == [True, False]


def test_an_empty_cache_is_listed_and_cleared(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert main(["cache"]) == 0
    assert "no models" in capsys.readouterr().out
    assert main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out == "freed 0.0 MB\n"


def test_versions_include_libpcap(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert "libpcap version 1." in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["filter", "-d", "tcp"], ["cards"], ["cache"], ["--help"]])
def test_a_reader_that_has_gone_gets_no_message(arguments: list[str]) -> None:
    with subprocess.Popen([*HEADRACE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


def has_reader(pipe: Path) -> bool:
    """Whether someone reads a pipe, or waits for somebody who writes; from then on it is open for writing here."""
    try:
        os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return False
    return True


def test_control_c_ends_with_130_and_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "never")
    with subprocess.Popen(
        [*HEADRACE, "filter", "-F", str(tmp_path / "never"), "-d"], stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        until(lambda: has_reader(tmp_path / "never"), "the program to open the pipe")
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b"headrace: interrupted\n"
        assert process.wait() == 130
