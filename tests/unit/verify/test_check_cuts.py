"""Input that no epoch took, or two epochs took, is found; what the log's rule refuses is no anomaly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.protocol import decisions
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.values import Offsets
from tandem.verify.check import Checker
from tandem.verify.inputs import InputBounds
from tandem.verify.report import Anomaly
from unit.verify.history import INPUT, TAKEN, counts, cut, feed, good, marker, texts


@pytest.mark.parametrize(("end", "lost", "duplicated"), [(TAKEN * 3 - 4, 4, 0), (TAKEN * 3 + 6, 0, 6)])
def test_an_epoch_published_from_a_refused_cut_leaves_a_gap_or_an_overlap(end: int, lost: int, duplicated: int) -> None:
    history = good()
    log = (*history.log, cut(2, end))  # repeated, so refused; yet the marker of epoch 2 names it
    markers = tuple(marker(2, log_offset=len(log) - 1) if m.epoch == 2 else m for m in history.markers)

    assert counts(replace(history, log=log, markers=markers).verified()) == (lost, duplicated, 0)


def test_a_published_epoch_that_was_never_cut_is_lost() -> None:
    history = good()

    assert counts(replace(history, log=history.log[:-1]).verified())[0] == 1


def test_a_log_whose_rule_let_a_cut_go_back_overlaps(monkeypatch: pytest.MonkeyPatch) -> None:
    history = good()
    log = (*history.log[:3], cut(2, TAKEN * 2 - 3), *history.log[4:])
    monkeypatch.setattr(decisions, "never_goes_back", lambda _ends, _last: True)

    assert counts(replace(history, log=log).verified()) == (0, 3, 0)


def test_a_log_whose_rule_let_a_cut_forget_an_input_loses(monkeypatch: pytest.MonkeyPatch) -> None:
    history = good()
    log = (*history.log[:-1], replace(cut(4, 0), ends=Offsets()))
    monkeypatch.setattr(decisions, "never_goes_back", lambda _ends, _last: True)

    assert "input in/0 is forgotten by the cut of epoch 4" in texts(
        replace(history, log=log).verified(), Anomaly.LOST_WRITE
    )


def test_input_before_the_start_of_the_first_epoch_is_lost() -> None:
    history = good()
    started_late = replace(history.log[0], start=Offsets({INPUT: 6}))  # type: ignore[type-var]

    assert counts(replace(history, log=(started_late, *history.log[1:])).verified()) == (6, 0, 0)


def test_a_job_that_starts_with_the_latest_record_loses_nothing_before_it() -> None:
    history = good()
    started_late = replace(history.log[0], start=Offsets({INPUT: 6}))  # type: ignore[type-var]
    checker = feed(Checker(Delivery.EXACTLY_ONCE), [("log", started_late, 0), ("log", cut(0, 10), 1)])

    assert checker.report(replace(history.bounds, from_start=frozenset())).good


def test_input_that_was_deleted_before_an_epoch_took_it_is_lost() -> None:
    history = good()
    checker = feed(Checker(Delivery.EXACTLY_ONCE), (step for steps in history.steps() for step in steps))

    assert checker.report(InputBounds(Offsets({INPUT: 53}), Offsets({INPUT: 60}))).lost == 3


def test_an_input_that_was_made_anew_is_lost() -> None:
    assert counts(replace(good(), input_end=8).verified()) == (8, 0, 0)


def test_proposals_that_the_rule_refuses_are_no_anomaly() -> None:
    history = good(4)
    late = (cut(2, TAKEN * 3 + 2), cut(1, TAKEN * 2), cut(9, TAKEN * 9), cut(4, 3))
    log = (*history.log[:4], *late, *history.log[4:])
    markers = (*history.markers[:3], marker(3, log_offset=8))

    assert replace(history, log=log, markers=markers).verified().good
