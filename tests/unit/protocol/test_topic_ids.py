"""The log says which topics its positions are of, and what it said first stays."""

from __future__ import annotations

from dataclasses import replace

from tandem.protocol.decisions import Decisions
from unit.protocol.builders import config, cut

ONE, OTHER = (("in", "one"),), (("in", "other"),)


def test_the_config_says_it() -> None:
    log = Decisions()
    log.apply(replace(config(0), topic_ids=ONE))
    log.apply(replace(cut(0, 1), topic_ids=OTHER))
    assert log.topic_ids == ONE


def test_where_an_old_config_does_not_the_first_cut_that_knows_says_it() -> None:
    log = Decisions()
    for offset, proposal in enumerate((config(0), cut(0, 1), replace(cut(1, 2), topic_ids=ONE))):
        log.apply(proposal, offset)
    assert log.topic_ids == ONE
    log.apply(replace(cut(2, 3), topic_ids=OTHER))
    assert log.topic_ids == ONE


def test_a_refused_cut_says_nothing() -> None:
    log = Decisions()
    log.apply(config(0))
    log.apply(replace(cut(1, 2), topic_ids=ONE))
    assert log.topic_ids == ()


def test_who_begins_to_read_at_a_published_cut_knows_it_too() -> None:
    published = replace(cut(4, 9), topic_ids=ONE)
    assert Decisions.resumed(config(0), published, 7).topic_ids == ONE
    assert Decisions.resumed(replace(config(0), topic_ids=ONE), cut(4, 9), 7).topic_ids == ONE
