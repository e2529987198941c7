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
    HeadraceError with what ovs-ofctl says is wrong; flows before the wrong one may then be there."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        raise HeadraceError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise HeadraceError(f"{path}: {error.strerror if isinstance(error, OSError) else 'not a text'}") from None
    with tempfile.TemporaryDirectory() as folder:
        noted = Path(folder) / path.name
        noted.write_text(_noted(text))
        _tell(switch, str(path), "add-flows", str(noted))


def add_flow(switch: OpenFlowSwitch, flow: str) -> None:
    """Adds a flow. Raises HeadraceError, as ``load_flows``."""
    _tell(switch, flow, "add-flow", _noted(flow))


def del_flows(switch: OpenFlowSwitch, match: str) -> None:
    """Deletes the flows that a match covers; an empty one: all. Raises HeadraceError."""
    _tell(switch, match, "del-flows", *([match] if match else []))


def _noted(text: str) -> str:
    def note(actions: re.Match[str]) -> str:
        return f"note:48.52.{sum(1 << CUSTOM.index(name) for name in set(actions[0].split(','))):02x}"

    return _CUSTOM.sub(note, text)


def _tell(switch: OpenFlowSwitch, origin: str, command: str, *words: str) -> None:
    program = shutil.which("ovs-ofctl")
    if program is None:
        raise HeadraceError("ovs-ofctl is not there to read flows: install openvswitch-common")
    with tempfile.TemporaryDirectory() as folder, open(f"{folder}/said", "w+") as said:
        with Controllers(switch, listens=[f"punix:{folder}/switch"]) as controllers:
            line = [program, "--protocols=OpenFlow13", command, controllers.listening[0], *words]
            process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
            try:
                while process.poll() is None:
                    controllers.poll(_WAIT_S)
            finally:
                process.kill()
                process.wait()
        if process.returncode:
            said.seek(0)
            raise HeadraceError(f"{origin}: {said.read().strip()}")
