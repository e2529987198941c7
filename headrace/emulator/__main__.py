"""``python -m headrace.emulator SCENARIO``: an emulation for a program, with which it ends. People use ``headrace
emulate run``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from headrace.emulator import kernel
from headrace.emulator.keeper import EmulationJob, run
from headrace.emulator.share import Share
from headrace.errors import HeadraceError


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("scenario", type=Path)
    parser.add_argument("--name", default="default")
    parser.add_argument("--fabric")
    parser.add_argument("--hold", action="store_true")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--replay", type=Path)
    parser.add_argument("--share", type=Share.read)
    parser.add_argument("--cluster")
    kernel.die_with_parent()

    def tell(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    try:
        given = vars(parser.parse_args())
        cluster = given.pop("cluster")
        job = EmulationJob(**given)
        if cluster is None:
            run(job, tell, lambda part, done, of: tell(f"building {done} {of} {part}"))
        else:
            from headrace.emulator import cluster as hosts

            hosts.run(job, cluster, tell)
    except HeadraceError as error:
        print(f"headrace: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
