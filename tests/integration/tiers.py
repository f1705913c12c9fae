"""Which parameters of a test `.ci/run` takes: the others are variants, marked `thorough`."""

from collections.abc import Iterable
from typing import TypeVar

import pytest

_Name = TypeVar("_Name")


def variants(names: Iterable[_Name], in_ci: Iterable[_Name]) -> list[object]:
    """Parameters, those that are not `in_ci` marked `thorough`."""
    kept = list(in_ci)
    return [name if name in kept else pytest.param(name, marks=pytest.mark.thorough) for name in names]
