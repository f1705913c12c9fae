"""What holds for every test."""

from __future__ import annotations

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
