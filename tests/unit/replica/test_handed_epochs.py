"""What passes between the loop's thread and the engine's about answers: asks go one way, what they bring the other."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

import pytest

from tandem.checkpoint.position import EnginePosition
from tandem.core.effects import Answer, Ask
from tandem.core.events import Asked, Needs, ReplicaEvent
from tandem.engine.interface import StoppedError
from tandem.protocol.values import Answers
from tandem.replica.handed import HandedEpochs

LIMIT_S = 20.0


class Engine:
    """A thread that needs the answers of epoch 3, and asks with `function`."""

    def __init__(self, function: Callable[[str, Callable[[], bool]], Answers | None]) -> None:
        self.posted: queue.SimpleQueue[ReplicaEvent] = queue.SimpleQueue()
        self.handed = HandedEpochs(EnginePosition())
        self.handed.connect(self.posted.put, lambda: False)
        self.found: object = None
        self._function = function
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self.posted.get(timeout=LIMIT_S) == Needs(3, ("score", "rate"), has_read_all=True)

    def _run(self) -> None:
        try:
            self.found = self.handed.answers(3, ["score", "rate"], self._function, lambda _: None)
        except StoppedError as error:
            self.found = error

    def ended_with(self) -> object:
        self._thread.join(LIMIT_S)
        assert not self._thread.is_alive()
        return self.found


def test_what_is_asked_is_posted_and_what_counts_is_returned() -> None:
    engine = Engine(lambda question, _: (f"mine to {question}",))
    engine.handed.say(Ask(3, "score"))
    assert engine.posted.get(timeout=LIMIT_S) == Asked(3, "score", ("mine to score",))

    engine.handed.say(Answer(3, "rate", ("1.07",)))
    engine.handed.say(Answer(3, "score", ("theirs",)))
    assert engine.ended_with() == {"rate": ("1.07",), "score": ("theirs",)}


def test_an_answer_halts_the_call_that_is_under_way() -> None:
    asked, halted = threading.Event(), threading.Event()

    def hangs(_: str, halt: Callable[[], bool]) -> None:
        asked.set()
        while not halt():
            assert not halted.wait(0.01)
        halted.set()

    engine = Engine(hangs)
    engine.handed.say(Ask(3, "score"))
    assert asked.wait(LIMIT_S)
    for question in ("score", "rate"):
        engine.handed.say(Answer(3, question, ("theirs",)))
    assert engine.ended_with() == {"score": ("theirs",), "rate": ("theirs",)}
    assert engine.posted.empty(), "nothing is proposed to what is decided"


def test_who_waits_for_an_answer_is_stopped() -> None:
    engine = Engine(lambda *_: None)
    engine.handed.stop()
    assert isinstance(engine.ended_with(), StoppedError)


def test_an_ask_of_an_epoch_that_is_over_is_not_carried_out() -> None:
    def never(*_: object) -> None:
        pytest.fail("asked")

    engine = Engine(never)
    engine.handed.say(Ask(2, "score"))
    engine.handed.say(Answer(3, "score", ("theirs",)))
    engine.handed.say(Ask(3, "score"))
    engine.handed.say(Answer(3, "rate", ("theirs",)))
    assert engine.ended_with() == {"score": ("theirs",), "rate": ("theirs",)}
