"""Causal services: what the outside world answers is recorded in the ordering log, and the log's answer is used.

Who asks, and which answer counts, is decided by `core.asking`. Here the job's functions are called, and the answers that
count are laid beside the records.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tandem.engine.calls import Calls, Failure
from tandem.engine.interface import StoppedError
from tandem.intake.fetch import Answered, AnswerSource, Fetched
from tandem.jobapi.questions import Question
from tandem.kafka.errors import LostInputError
from tandem.logs import get_logger
from tandem.protocol.determinants import MOST_BYTES, MOST_EPOCH_BYTES, MOST_TOGETHER, is_utf8, size_of
from tandem.protocol.values import Answers

_log = get_logger(__name__)

_TOO_LARGE = (
    "the answers of an epoch do not fit into memory beside its records: these are null for all of them, in every replica. "
    "Answer with less, or lower spec.ordering.maxRecordsPerEpoch"
)


class Causal:
    """Answers the questions of a job, epoch after epoch.

    `most_bytes` : of the answers beside the records of one epoch; the same in all replicas.
    """

    def __init__(self, questions: Sequence[Question], most_bytes: int = MOST_TOGETHER) -> None:
        self._most_bytes = most_bytes
        self.questions = {question.name: question for question in questions}
        self.on_calls: Callable[[str, int, int, str], None] = lambda *_: None
        """Called with a question, how many answers an epoch's calls were to give, how many are missing, and why one is."""
        self._stopping = threading.Event()
        self._calls = Calls()

    def stop(self) -> None:
        """Give up what is under way."""
        self._stopping.set()

    def answered(self, fetched: Fetched, source: AnswerSource, at: Callable[[str], None] = lambda _: None) -> Fetched:
        """`fetched` with the answers that count.

        `at` : called with each step.

        Raises `StoppedError`, `LostInputError`, `JobError` if a function returns nonsense.
        """

        def ask(name: str, halt: Callable[[], bool]) -> Answers | None:
            question = self.questions[name]
            at(f"the answers to {name!r} ({1 + question.retries} times {question.timeout_s:g} s for a call)")
            return self._asked(question, fetched, halt)

        def wait(what: str) -> None:
            if self._stopping.is_set():
                raise StoppedError
            at(what)

        needed = [name for name, question in self.questions.items() if question.count(fetched)]
        return self._complete(fetched, source.answers(fetched.range.epoch, needed, ask, wait) if needed else {})

    def _asked(self, question: Question, fetched: Fetched, halt: Callable[[], bool]) -> Answers | None:
        epoch, calls, answers = fetched.range.epoch, question.calls(fetched), list[str | None]()
        results = self._calls.make(
            question.function, calls, question.timeout_s, question.retries, lambda: self._stopping.is_set() or halt()
        )
        if results is None:
            return None
        missing, reason = 0, ""
        for call, result in zip(calls, results, strict=True):
            if isinstance(result, Failure):
                _log.warning("no_answer", question=question.name, epoch=epoch, reason=result.reason)
                answers += [None] * question.expected(call)
                missing, reason = missing + question.expected(call), result.reason
                continue
            for answer in question.checked(call, result):
                if unfit := _unfit(question, answer):
                    _log.warning("answer_unfit", question=question.name, epoch=epoch, reason=unfit)
                    missing, reason = missing + 1, unfit
                answers.append(None if unfit else answer)
        self.on_calls(question.name, len(answers), missing, reason)
        return tuple(answers)

    def _complete(self, fetched: Fetched, answers: Mapping[str, Answers | None]) -> Fetched:
        columns, room = list[Answered](), self._most_bytes
        for name, question in self.questions.items():
            expected, epoch = question.count(fetched), fetched.range.epoch
            given = answers.get(name)
            if given is not None and len(given) != expected:
                raise LostInputError(
                    f"epoch {epoch}: {len(given)} answers to {name!r} are recorded, for {expected} "
                    "records: some have been deleted since. Set cleanup.policy=delete and a longer retention.ms"
                )
            size = question.size(fetched, given or ())
            if size > room:
                _log.warning("answers_too_large", question=name, epoch=epoch, bytes=size, left=room, remedy=_TOO_LARGE)
                given, size = None, 0
            room -= size
            columns.append(question.spread(fetched, (None,) * expected if given is None else given))
        return replace(fetched, answers=tuple(columns))


def _unfit(question: Question, answer: str | None) -> str:
    """Why an answer cannot be used; "": it can."""
    if not is_utf8(answer):
        return "the answer has half of a surrogate pair, so it is no UTF-8"
    if size_of(answer) > MOST_BYTES:
        return f"the answer has {size_of(answer)} bytes as JSON, over {MOST_BYTES}"
    if question.per == "epoch" and size_of(answer) > MOST_EPOCH_BYTES:
        return (
            f"the answer has {size_of(answer)} bytes as JSON, over {MOST_EPOCH_BYTES}, and each of the epoch's records "
            "would get a copy. Answer with what the rows need of it, or ask per record"
        )
    return ""
