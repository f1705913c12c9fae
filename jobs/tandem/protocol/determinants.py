"""Answers of the outside world as proposals that fit into records of the ordering log."""

import json
from collections.abc import Iterator, Sequence

from tandem.protocol.values import Determinant

MOST_BYTES = 500_000
"""Of the answers in one proposal, as JSON: brokers and producers take a megabyte by default."""

MOST_EPOCH_BYTES = 16_000
"""Of an answer about a whole epoch, as JSON: each of its records gets a copy."""
MOST_TOGETHER = 256_000_000
"""Of all answers beside an epoch's records, as text. Each replica leaves out what is over it: the same, by the log alone."""


def size_of(answer: str | None) -> int:
    """What an answer takes in a proposal, bytes."""
    return len(json.dumps(answer)) + 1


def is_utf8(answer: str | None) -> bool:
    """Whether an answer can be written as UTF-8: a half of a surrogate pair can be JSON, but no column holds it."""
    try:
        (answer or "").encode()
    except UnicodeEncodeError:
        return False
    return True


def in_parts(
    epoch: int, name: str, answers: Sequence[str | None], proposer: str, most_bytes: int = MOST_BYTES
) -> list[Determinant]:
    """The proposals that say `answers`, each of at most `most_bytes` (of one answer, if that alone is longer).

    >>> [part.answers for part in in_parts(3, "score", ["0.5", None, "0.25"], "replica-0", most_bytes=12)]
    [('0.5', None), ('0.25',)]
    """
    groups = list(_groups(answers, most_bytes)) or [()]
    return [Determinant(epoch, name, part, len(groups), group, proposer) for part, group in enumerate(groups)]


def _groups(answers: Sequence[str | None], most_bytes: int) -> Iterator[tuple[str | None, ...]]:
    group: list[str | None] = []
    bytes_left = most_bytes
    for answer in answers:
        if group and size_of(answer) > bytes_left:
            yield tuple(group)
            group, bytes_left = [], most_bytes
        group.append(answer)
        bytes_left -= size_of(answer)
    if group:
        yield tuple(group)
