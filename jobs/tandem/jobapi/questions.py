"""Questions of a job to the outside world: about which records, how they are asked, and what may be answered."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final, Literal, NamedTuple

from tandem.intake.fetch import Answered, Fetched
from tandem.jobapi.errors import JobError

Per = Literal["record", "epoch"]


class AskedRecord(NamedTuple):
    """A source record as it stands in Kafka, not parsed yet: it may be poison."""

    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Question:
    """One call of `ctx.ask`.

    `function` : per record: called with a list of `AskedRecord`, gives as many answers; per epoch: called with the
    epoch's time (Unix, ms), gives one. An answer is text, or None.
    `topics` : of the source whose records it is about.
    `timeout_s`, `retries` : how long one call may take, and how often it is made again.
    `batch` : the most records in a call.
    `is_determinant` : it is one of `ctx.determinant`, whose answers are written by `as_determinant`.
    """

    name: str
    function: Callable[[Any], Any]
    topics: frozenset[str]
    per: Per
    timeout_s: float
    retries: int
    batch: int
    is_determinant: bool = False

    def count(self, fetched: Fetched) -> int:
        """How many answers an epoch needs; none if it has no record to ask about."""
        records = self._records(fetched)
        return records if self.per == "record" else min(records, 1)

    def size(self, fetched: Fetched, answers: Sequence[str | None]) -> int:
        """What the answers take beside the records, bytes: each record has its own, or a copy of the epoch's."""
        size = sum(0 if one is None else len(one.encode(errors="replace")) for one in answers)
        return size if self.per == "record" else size * self._records(fetched)

    def _records(self, fetched: Fetched) -> int:
        return sum(len(messages) for tp, messages in fetched.records if tp.topic in self.topics)

    def calls(self, fetched: Fetched) -> list[Any]:
        """The arguments of the calls that answer this question for an epoch."""
        if self.per == "epoch":
            return [fetched.range.time_ms]
        records = [
            AskedRecord(message.key(), message.value())
            for tp, messages in fetched.records
            if tp.topic in self.topics
            for message in messages
        ]
        return [records[start : start + self.batch] for start in range(0, len(records), self.batch)]

    def expected(self, call: Any) -> int:
        """How many answers one call gives."""
        return len(call) if self.per == "record" else 1

    def checked(self, call: Any, result: Any) -> list[str | None]:
        """What a call returned, as answers. Raises `JobError` if it is something else: a mistake of the job's."""
        answers = [result] if self.per == "epoch" else result
        if not isinstance(answers, Sequence) or isinstance(answers, str) or len(answers) != self.expected(call):
            raise JobError(
                f"the function of question {self.name!r} returned {_brief(result)} for {self.expected(call)} records. "
                "Return a list with one answer for each record, in the same order"
            )
        for answer in answers:
            if answer is not None and not isinstance(answer, str):
                raise JobError(
                    f"the function of question {self.name!r} answered {_brief(answer)}. "
                    "An answer is text or None: use str() or json.dumps()"
                )
        return list(answers)

    def spread(self, fetched: Fetched, answers: Sequence[str | None]) -> Answered:
        """The answers, one for each record of the epoch, None where the question was not about it."""
        given = iter(answers) if self.per == "record" else repeat(answers[0] if answers else None)
        spread = (
            next(given) if tp.topic in self.topics else None for tp, messages in fetched.records for _ in messages
        )
        return Answered(self.name, tuple(spread))


_SPECIAL: Final = ("NaN", "Infinity", "+Infinity", "-Infinity", "+INF", "-INF")
"""Texts that Spark reads from JSON as numbers with a fraction."""
_NUMBERS: Final[Mapping[str, tuple[type, ...]]] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "LONG"), (int,)),
    **dict.fromkeys(("FLOAT", "REAL", "DOUBLE"), (int, float)),
}


def as_determinant(function: Callable[[int], Any], schema: str = "") -> Callable[[int], str | None]:
    """What answers with a function's value, as the JSON that the column of `ctx.determinant` is read from.

    `schema` : of the column. What is returned raises `TypeError`: the value is no JSON, or no number where the column is
    one, which Spark would read as null.
    """
    numbers = _NUMBERS.get(schema.strip().upper())

    def found(time_ms: int) -> str | None:
        value = function(time_ms)
        if numbers is not None and not _is_number(value, numbers):
            raise TypeError(f"the function returned {_brief(value)} for a column {schema}, which Spark reads as null")
        return None if value is None else json.dumps({"value": value})

    return found


def _is_number(value: Any, kinds: tuple[type, ...]) -> bool:
    """Whether Spark reads it as one from JSON. Nothing at all is fine, too."""
    is_special = float in kinds and isinstance(value, str) and value in _SPECIAL
    return value is None or is_special or (isinstance(value, kinds) and not isinstance(value, bool))


def _brief(value: object) -> str:
    size = f" of {len(value)}" if isinstance(value, Sequence) and not isinstance(value, str) else ""
    return f"a {type(value).__name__}{size}"
