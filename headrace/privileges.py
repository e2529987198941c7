"""Giving up root's rights, as tcpdump's -Z does."""

from __future__ import annotations

import os
import pwd

from headrace.errors import HeadraceError


def drop_privileges(user: str) -> None:
    """Becomes ``user``, with that user's groups, if this is root; otherwise nothing happens. There is no way back.

    Raises HeadraceError when there is no such user, or the change is refused.
    """
    if os.geteuid() != 0:
        return
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise HeadraceError(f"-Z {user}: no such user") from None
    try:
        os.initgroups(entry.pw_name, entry.pw_gid)
        os.setgid(entry.pw_gid)
        os.setuid(entry.pw_uid)
    except OSError as error:
        raise HeadraceError(f"-Z {user}: {error.strerror}") from None
