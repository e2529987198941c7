"""``headrace extcap``: the cards as interfaces of Wireshark and tshark."""

from __future__ import annotations

from typing import Annotated

import typer

_EPILOG = """Examples:

headrace extcap install

tshark -i headrace-capture -f 'udp port 9' -o extcap.headrace_capture.source:iface:eth0

headrace extcap uninstall
"""

Folder = Annotated[
    str | None, typer.Option("--dir", metavar="DIR", help="The extcap folder.", show_default="Wireshark's")
]

extcap = typer.Typer(
    help="Make the cards interfaces of Wireshark and tshark; capture filters run in RTL.",
    epilog=_EPILOG,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(extcap, name="extcap")


@extcap.command("install")
def install_command(folder: Folder = None) -> None:
    """Add the cards to Wireshark: put a small program into its personal extcap folder."""
    from pathlib import Path

    from headrace.extcap import install as extcap_install

    for path in extcap_install.install(None if folder is None else Path(folder)):
        print(path)


@extcap.command("uninstall")
def uninstall_command(folder: Folder = None) -> None:
    """Remove that program."""
    from pathlib import Path

    from headrace.extcap import install as extcap_install

    for path in extcap_install.uninstall(None if folder is None else Path(folder)):
        print(f"removed {path}")


@extcap.command("run", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run_command(context: typer.Context) -> int:
    """Answer a call from Wireshark (--extcap-interfaces, --extcap-config, --capture and so on)."""
    from headrace.extcap.program import main

    return main(context.args)
