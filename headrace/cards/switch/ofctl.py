"""Flows as ovs-ofctl writes them: it reads them itself, and is the switch's controller meanwhile. ``FIR`` and ``CRC``
are actions, too: notes for ovs-ofctl."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from headrace.cards.switch.agent import OpenFlowSwitch
from headrace.cards.switch.controllers import Controllers
from headrace.cards.switch.text import CUSTOM
from headrace.errors import HeadraceError

_WAIT_S = 0.05
_ONE = f"(?:{'|'.join(CUSTOM)})"
_CUSTOM = re.compile(rf"(?<=[=,(]){_ONE}(?:,{_ONE})*(?=[,)\s]|$)")


def load_flows(switch: OpenFlowSwitch, path: Path) -> None:
    """Adds the flows of a file, one a line as in ovs-ofctl(8): "priority=10,tcp,tp_dst=80,actions=output:2". Raises
    HeadraceError with the line, and what ovs-ofctl or the switch say is wrong with it; flows of lines before it may
    then be there."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        raise HeadraceError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise HeadraceError(f"{path}: {error.strerror if isinstance(error, OSError) else 'not a text file'}") from None
    with tempfile.TemporaryDirectory() as folder:
        noted = Path(folder) / path.name
        noted.write_text(_noted(text))
        try:
            _tell(switch, "add-flows", str(noted))
        except _FailedError as error:
            lines = [number for number, line in enumerate(text.split("\n"), 1) if line.partition("#")[0].strip()]
            place = f":{lines[error.flow_mods - 1]}" if error.flow_mods else ""
            found = re.fullmatch(rf"{re.escape(str(noted))}(:\d+): (.*)", str(error))
            place, why = found.groups() if found else (place, str(error))
            raise HeadraceError(f"{path}{place}: {why}") from None


def add_flow(switch: OpenFlowSwitch, flow: str) -> None:
    """Adds a flow. Raises HeadraceError, as ``load_flows``."""
    _tell_one(switch, flow, "add-flow", _noted(flow))


def del_flows(switch: OpenFlowSwitch, match: str) -> None:
    """Deletes the flows that a match covers; an empty one: all. Raises HeadraceError."""
    _tell_one(switch, match, "del-flows", *([match] if match else []))


def _noted(text: str) -> str:
    def note(actions: re.Match[str]) -> str:
        return f"note:48.52.{sum(1 << CUSTOM.index(name) for name in set(actions[0].split(','))):02x}"

    return _CUSTOM.sub(note, text)


def _tell_one(switch: OpenFlowSwitch, origin: str, command: str, *words: str) -> None:
    try:
        _tell(switch, command, *words)
    except _FailedError as error:
        raise HeadraceError(f"{origin}: {error}") from None


class _FailedError(Exception):
    """What ovs-ofctl says, or why the switch has refused the last of so many flow mods."""

    def __init__(self, why: str, flow_mods: int) -> None:
        super().__init__(why)
        self.flow_mods = flow_mods


def _tell(switch: OpenFlowSwitch, command: str, *words: str) -> None:
    program = shutil.which("ovs-ofctl")
    if program is None:
        raise HeadraceError("ovs-ofctl, which parses flows, is missing: apt install openvswitch-common")
    with tempfile.TemporaryDirectory() as folder, open(f"{folder}/said", "w+") as said:
        with Controllers(switch, listens=[f"punix:{folder}/switch"]) as controllers:
            line = [program, "--protocols=OpenFlow13", command, controllers.listening[0], *words]
            process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
            others, connection = list(switch.connections), None
            try:
                while process.poll() is None:
                    controllers.poll(_WAIT_S)
                    connection = next((one for one in switch.connections if one not in others), connection)
            finally:
                process.kill()
                process.wait()
        if process.returncode:
            said.seek(0)
            text = said.read().strip()
            if connection is not None and connection.refused:
                code = re.search(r"OFP\w+C_\w+", text)
                raise _FailedError(connection.refused + (f" ({code[0]})" if code else ""), connection.flow_mods)
            lines = [line for line in text.splitlines() if line.startswith("ovs-ofctl: ")] or text.splitlines()[-1:]
            raise _FailedError(" ".join(lines).removeprefix("ovs-ofctl: "), 0)
