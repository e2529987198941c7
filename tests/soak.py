"""A parameter of a test that only a soak tries: `@pytest.mark.parametrize("width", [32, soak(64), 512])`."""

from typing import Any

import pytest


def soak(*values: Any) -> Any:
    """The values of one variant of a test, left out unless --soak is given."""
    return pytest.param(*values, marks=pytest.mark.soak)
