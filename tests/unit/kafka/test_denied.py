"""An input that the account may not read is no reason to end at once, and no reason to try for ever without a word."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from tandem.kafka.errors import NotAllowedError
from tandem.kafka.patience import PATIENCE_S, Denied, is_denied


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_a_topic_that_stays_refused_ends_the_process_with_what_to_do() -> None:
    clock = Clock()
    denied = Denied(clock)
    denied.add("orders")
    clock.now_s += PATIENCE_S
    denied.add("orders")
    denied.check()

    clock.now_s += 1.0
    with pytest.raises(NotAllowedError, match=r"may not read topic orders .* Give it the rights Read and Describe"):
        denied.check()


def test_a_topic_that_is_read_again_was_refused_for_a_moment_only() -> None:
    clock = Clock()
    denied = Denied(clock)
    denied.add("orders")
    denied.over("orders")
    clock.now_s += 2 * PATIENCE_S

    denied.check()
    denied.over("others")


def test_only_missing_rights_are_denials() -> None:
    assert is_denied(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    assert not is_denied(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
