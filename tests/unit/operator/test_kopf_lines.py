"""kopf's lines are the operator's, and what it repeats is rare."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from tandem_operator.kopf_lines import KopfLines

FAILED = "Request attempt #{} failed; will retry: GET https://1.2.3.4/api/v1/namespaces/{}/pods?watch=true&v={} -> no"


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    logger = logging.getLogger("kopf")
    handlers, propagates = logger.handlers, logger.propagate
    yield
    logger.handlers, logger.propagate = handlers, propagates


def test_each_line_comes_once_in_five_minutes_whichever_attempt_it_is_of() -> None:
    now_s = [0.0]
    KopfLines(lambda: now_s[0]).install()
    logger = logging.getLogger("kopf._cogs.clients.api")
    with capture_logs() as lines:
        for attempt in range(30):
            now_s[0] += 30
            logger.error(FAILED.format(attempt, "bank", attempt))
            logger.error(FAILED.format(attempt, "shop", attempt))
            logger.info("nothing of interest")

    assert len(lines) == 2 * 3
    assert {line["event"] for line in lines} == {"kopf"}
    assert "/bank/" in lines[0]["reason"]
    assert "/shop/" in lines[1]["reason"]
