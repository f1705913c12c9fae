"""What a core wants is carried out: each effect by its port, in the order of the effects, and an end is the end."""

from __future__ import annotations

import queue

import pyarrow as pa
import pytest

from tandem.core.effects import (
    Answer,
    Append,
    Ask,
    Compared,
    Compute,
    Effect,
    Exit,
    Expect,
    HandedOver,
    Marked,
    SeekSuccessor,
    TellRole,
)
from tandem.core.events import Computed, Seen
from tandem.engine.interface import StoppedError
from tandem.protocol.actions import Fence, Publish, ReadToEnd, RenewProducer, Step
from tandem.protocol.switchover import Role
from tandem.protocol.values import Claim, Marker
from tandem.replica.rows import EpochRows
from tandem.replica.steps import Job
from unit.replica.looping import LIMIT_S, Looped, NotedSlots, cut

CLAIM = Claim(3, 0, "job.replica-0.aaaa")
MARKED = Marked(Marker(3, 0, "job.replica-1.bbbb", "d", 0, 30), cut(3))


def rows(epoch: int) -> EpochRows:
    return EpochRows.of(epoch, pa.table({"value": [b"x"]}), ordered=True)


@pytest.mark.parametrize(
    ("effect", "done"),
    [
        (Append(CLAIM), CLAIM),
        (Expect("job.replica-1.bbbb"), "expect job.replica-1.bbbb"),
        (MARKED, MARKED),
        (Compared(3), "compared 3"),
        (Fence(("job.replica-1.bbbb",)), Job(Fence(("job.replica-1.bbbb",)), 3)),
        (ReadToEnd(), Job(ReadToEnd(), 3)),
        (RenewProducer(), Job(RenewProducer(), 3)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_effect_goes_to_its_port(effect: Effect, done: object) -> None:
    assert Looped(effect).after() == [done]


def test_effects_are_carried_out_in_their_order() -> None:
    assert Looped(Compared(2), Append(CLAIM), Expect("b"), Compared(3)).after() == [
        "compared 2",
        CLAIM,
        "expect b",
        "compared 3",
    ]


def test_what_is_only_said_does_nothing() -> None:
    assert Looped(HandedOver(None, 1.0)).after() == []


def test_the_engine_is_given_epochs() -> None:
    looped = Looped(Compute(cut(4)))
    looped.loop.start()
    looped.loop.post(Seen())
    assert looped.epochs.next(LIMIT_S) == cut(4)
    looped.loop.stop()
    with pytest.raises(StoppedError):
        looped.epochs.next(LIMIT_S)


def test_the_engine_is_given_questions_and_the_answers_that_count() -> None:
    looped = Looped(Ask(4, "score"), Answer(4, "rate", ("1.07",)), Answer(4, "score", ("mine",)))
    asked: list[str] = []

    def ask(question: str, _halt: object) -> None:
        asked.append(question)

    looped.epochs.connect(looped.loop.post, lambda: False)
    looped.loop.start()
    found = looped.epochs.answers(4, ["score", "rate"], ask, lambda _: None)
    looped.loop.stop()
    assert found == {"score": ("mine",), "rate": ("1.07",)}


@pytest.mark.parametrize(
    ("effect", "done"), [(TellRole(Role.READY), Role.READY), (SeekSuccessor(), "leave")], ids=["role", "successor"]
)
def test_the_others_hear_of_it_where_there_are_slots(effect: Effect, done: object) -> None:
    assert Looped(effect).after() == []
    looped, slots = Looped(effect), NotedSlots()
    looped.loop.join(slots)  # type: ignore[arg-type]
    assert looped.after() == []
    assert slots.done == [done]


@pytest.mark.parametrize("step", [Publish(3, 0), Publish(3, 1, skipped=True)], ids=["rows", "only the marker"])
def test_what_is_published_are_the_rows_that_were_computed(step: Step) -> None:
    looped, mine = Looped(step), rows(3)
    looped.loop.computed(mine)
    assert looped.after() == [Job(step, 3, mine, cut(3))]


def test_rows_are_kept_until_their_epoch_is_published() -> None:
    looped = Looped(MARKED)
    looped.loop.computed(rows(3))
    looped.loop.computed(rows(4))
    assert looped.after() == [MARKED]
    assert (looped.loop.rows_of(3), looped.loop.rows_of(4) is not None) == (None, True)


def test_rows_of_an_epoch_that_is_published_already_are_not_kept() -> None:
    looped = Looped()
    looped.loop.computed(rows(2))
    looped.after()
    assert looped.loop.rows_of(2) is None


def test_a_core_that_ends_with_an_error_ends_the_loop_with_it() -> None:
    error = ValueError("diverged")
    looped = Looped(Exit(error))
    looped.after()
    assert looped.failure.error is error
    assert looped.loop.has_ended(0.0)
    with pytest.raises(StoppedError):
        looped.loop.computed(rows(4))


def test_one_that_was_asked_to_stop_ends_without_any() -> None:
    looped = Looped(Exit())
    looped.after()
    assert looped.failure.error is None
    assert looped.loop.has_ended(0.0)


def test_a_port_that_fails_ends_the_loop_and_the_engine() -> None:
    looped = Looped(Expect("b"))

    def expect(_owner: str) -> None:
        raise ConnectionError("no route")

    looped.expect = expect  # type: ignore[method-assign]
    looped.loop.start()
    looped.loop.post(Seen())
    with pytest.raises(StoppedError):
        looped.epochs.next(LIMIT_S)
    assert looped.loop.has_ended(LIMIT_S)
    assert isinstance(looped.failure.error, ConnectionError)
    looped.loop.stop()


def test_who_joins_the_slots_knows_at_once_who_has_ended_already() -> None:
    looped = Looped()
    looped.loop.start()
    looped.loop.join(NotedSlots("job.replica-1.bbbb"))  # type: ignore[arg-type]
    assert looped.core.seen.get(timeout=LIMIT_S) == Seen(ended=frozenset({"job.replica-1.bbbb"}))
    looped.loop.stop()


def test_what_is_computed_is_an_event() -> None:
    looped, mine = Looped(), rows(4)
    looped.loop.start()
    looped.loop.computed(mine)
    event = looped.core.seen.get(timeout=LIMIT_S)
    assert isinstance(event, Computed)
    assert (event.epoch, event.digest) == (4, mine.digest)
    looped.loop.stop()
    with pytest.raises(queue.Empty):
        looped.core.seen.get(timeout=0.0)
