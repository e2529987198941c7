"""Flows as ovs-ofctl writes them: it reads them itself, and is the switch's controller meanwhile."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from headrace.cards.switch.agent import OpenFlowSwitch
from headrace.cards.switch.controllers import Controllers
from headrace.errors import HeadraceError

_WAIT_S = 0.05


def load_flows(switch: OpenFlowSwitch, path: Path) -> None:
    """Adds the flows of a file, one a line as in ovs-ofctl(8): "priority=10,tcp,tp_dst=80,actions=output:2". Raises
    HeadraceError with what ovs-ofctl says is wrong; flows before the wrong one may then be there."""
    program = shutil.which("ovs-ofctl")
    if program is None:
        raise HeadraceError("ovs-ofctl is not there to read flows: install openvswitch-common")
    if not path.is_file():
        raise HeadraceError(f"{path}: no such file")
    with tempfile.TemporaryDirectory() as folder, open(f"{folder}/said", "w+") as said:
        with Controllers(switch, listens=[f"punix:{folder}/switch"]) as controllers:
            command = [program, "--protocols=OpenFlow13", "add-flows", controllers.listening[0], str(path.absolute())]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
            try:
                while process.poll() is None:
                    controllers.poll(_WAIT_S)
            finally:
                process.kill()
                process.wait()
        if process.returncode:
            said.seek(0)
            raise HeadraceError(f"{path}: {said.read().strip()}")
