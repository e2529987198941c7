"""The exceptions that a user sees as one line of text."""


class HeadraceError(Exception):
    """What went wrong in one clear line, and the exit code that a command line tool ends with."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class CardError(HeadraceError):
    """The card or its harness reports an error."""


class CaptureError(CardError):
    """A capture breaks off; everything before the fault has gone through the card."""


class HangError(CardError):
    """The card stays busy and moves nothing."""


class BusError(CardError):
    """A register access was refused or not answered."""


class ProtocolError(CardError):
    """The card broke the protocol of a bus. It can't go on."""


class ModelError(CardError):
    """The model stopped itself ($fatal, $stop, a failed assertion), or the harness failed. The card can't go on."""
