"""When a client has forgotten all brokers, by what it tells about itself."""

from __future__ import annotations

import json

import pytest

from tandem.kafka.workarounds import BrokerWatch


def told(*sources: str) -> str:
    """What a client tells that knows brokers from these sources."""
    return json.dumps({"brokers": {str(number): {"source": source} for number, source in enumerate(sources)}})


COORDINATOR_ONLY = told("logical")


def test_one_that_knows_a_broker_is_left_alone() -> None:
    watch = BrokerWatch()
    for statistics in (told("configured"), told("learned", "logical"), told("configured", "learned")) * 3:
        watch.see(statistics)
        assert not watch.forgot_all


@pytest.mark.parametrize("none", [COORDINATOR_ONLY, told()])
def test_one_that_knows_none_twice_in_a_row_has_forgotten_all(none: str) -> None:
    watch = BrokerWatch()
    watch.see(none)
    watch.see(told("configured"))
    watch.see(none)
    assert not watch.forgot_all, "it was about to ask those of bootstrap.servers"
    watch.see(none)
    assert watch.forgot_all
