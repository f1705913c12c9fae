"""What a replica reads as published is compared with what it computed itself, whichever comes first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.protocol.publication import ChangedInputError, DivergedError
from tandem.protocol.publication_rules import Computation, Delivery
from unit.protocol.builders import marker
from unit.protocol.publishing import Replica


def test_a_replica_that_computed_something_else_has_diverged_whichever_comes_first() -> None:
    replica = Replica()
    replica.computes(0)
    with pytest.raises(DivergedError, match="epoch 0: computed digest d, published other by b"):
        replica.publication.on_marker(marker(0, "b", digest="other"), 0.0)
    later = Replica()
    later.publication.on_marker(marker(0, "b", digest="other"), 0.0)
    with pytest.raises(DivergedError):
        later.publication.on_computed(0, Computation("d"))


def test_a_replica_that_was_given_other_records_is_told_so_though_its_rows_are_the_same() -> None:
    """As where an input was compacted meanwhile: its state is another one, which only later epochs would show."""
    replica = Replica()
    published = replace(marker(0, "b", digest="d"), inputs="100:1f")
    replica.publication.on_computed(0, Computation("d", "97:2e"))
    with pytest.raises(ChangedInputError, match=r"than when b published it: 100 then, 97 now"):
        replica.publication.on_marker(published, 0.0)
    later = Replica()
    later.publication.on_marker(published, 0.0)
    with pytest.raises(ChangedInputError):
        later.publication.on_computed(0, Computation("d", "97:2e"))


@pytest.mark.parametrize(("then", "now"), [("", "97:2e"), ("97:2e", ""), ("97:2e", "97:2e")])
def test_records_are_compared_where_both_are_known(then: str, now: str) -> None:
    replica = Replica()
    replica.publication.on_computed(0, Computation("d", now))
    assert replica.publication.on_marker(replace(marker(0, "b", digest="d"), inputs=then), 0.0)


def test_a_generation_that_may_read_other_records_is_not_compared() -> None:
    replica = Replica()
    replica.publication.generation = 1
    replica.publication.on_computed(0, Computation("d", "97:2e"))
    assert replica.publication.on_marker(replace(marker(0, "b", digest="d"), inputs="100:1f"), 0.0)


def test_a_skipped_epoch_is_not_taken_for_divergence() -> None:
    replica = Replica(Delivery.AT_MOST_ONCE)
    replica.computes(0)
    assert replica.publication.on_marker(marker(0, "b", attempt=1, digest="other", skipped=True), 0.0)


def test_a_state_counts_once_its_epoch_is_both_computed_and_published() -> None:
    replica = Replica()
    publication = replica.publication
    assert publication.compared == -1
    replica.computes(0, 1)
    assert publication.compared == -1, "computed alone"
    publication.on_marker(marker(0, "b", digest="d"), 0.0)
    assert publication.compared == 0
    publication.on_marker(marker(1, "b", digest="d"), 0.0)
    publication.on_marker(marker(2, "b", digest="d"), 0.0)
    assert publication.compared == 1, "published alone"
    replica.computes(2)
    assert publication.compared == 2


@pytest.mark.parametrize("published_first", [True, False])
def test_the_state_of_an_epoch_that_differs_does_not_count(published_first: bool) -> None:
    publication = Replica().publication
    steps = [
        lambda: publication.on_computed(0, Computation("d")),
        lambda: publication.on_marker(marker(0, "b", digest="o"), 0.0),
    ]
    first, second = reversed(steps) if published_first else steps
    first()
    with pytest.raises(DivergedError):
        second()
    assert publication.compared == -1


def test_what_another_generation_published_says_nothing_of_this_one_s_state() -> None:
    replica = Replica()
    replica.publication.generation = 1
    replica.computes(0)
    replica.publication.on_marker(marker(0, "b", digest="d"), 0.0)
    assert replica.publication.compared == -1
