"""The one exception that a user sees as a line of text."""


class HeadraceError(Exception):
    """What went wrong in one clear line, and the exit code that a command line tool ends with."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code
