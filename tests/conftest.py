"""What holds for every test."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
import structlog

from tandem import logs


@pytest.fixture(autouse=True)
def _logging_of_its_own() -> Iterator[None]:
    """Whatever a test sets up for the logs, as a command or a process does, ends with it."""
    before, context = structlog.get_config(), dict(logs._context)
    yield
    structlog.configure(**before)
    logs._context.clear()
    logs._context.update(context)


@pytest.fixture(autouse=True)
def _environment_of_its_own() -> Iterator[None]:
    """What a test changes in the process's environment and path, for example by loading a job, ends with it: else the
    processes of the next test inherit it."""
    variables, path = dict(os.environ), [*sys.path]
    yield
    sys.path[:] = path
    for name in (os.environ.keys() | variables.keys()) - {"PYTEST_CURRENT_TEST"}:
        if name not in variables:
            del os.environ[name]
        elif os.environ.get(name) != variables[name]:
            os.environ[name] = variables[name]
