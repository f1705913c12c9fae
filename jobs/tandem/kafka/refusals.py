"""Records that a broker never takes, distinguished from what will be taken later. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaError

from tandem.kafka.errors import TandemKafkaError
from tandem.kafka.headers import row_id
from tandem.kafka.records import OutputRecord


@dataclass(frozen=True, slots=True)
class Failure:
    """Why something was not published.

    `record` None: it is not about a single one. `partition` : where the record went.
    """

    error: KafkaError
    record: OutputRecord | None = None
    partition: int = -1


@dataclass(frozen=True, slots=True)
class Refusal:
    """A record that the broker never takes, and why in its words."""

    record: OutputRecord
    code: int
    reason: str


@dataclass(frozen=True, slots=True)
class Blame:
    """The records that are to blame; if it is not known which, none, and all `suspects`."""

    refusals: tuple[Refusal, ...] = ()
    suspects: tuple[Refusal, ...] = ()


class RowsRefusedError(TandemKafkaError):
    """The broker never takes some of the records; nothing of the transaction is published.

    `refusals` : which, and why. Empty: it refused whole batches with the records `suspects`, so the next time each record is
    sent by itself, which shows those that are to blame.
    `undelivered` : without a transaction, the records that are still to be sent, those refused among them.
    """

    def __init__(self, blame: Blame, undelivered: Sequence[OutputRecord] = ()) -> None:
        super().__init__(f"the broker takes {len(blame.refusals) or 'some'} records never")
        self.refusals, self.suspects = blame.refusals, blame.suspects
        self.undelivered = tuple(undelivered)


ROWS_FAULT: Final = (
    KafkaError.INVALID_RECORD,
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.RECORD_LIST_TOO_LARGE,
    KafkaError._UNKNOWN_PARTITION,
)
"""What a record is refused with for what it is: trying again would not help."""

_SPARED: Final = KafkaError._INVALID_DIFFERENT_RECORD  # it was in one batch with a record that is to blame (KIP-467)


def blame_of(failures: Sequence[Failure], alone: bool) -> Blame | None:
    """Which rows are to blame; None if what failed is no row's fault. An epoch marker is no row.

    `alone` : each record was in a batch of its own.
    """
    blamed = [
        (failure, failure.record)
        for failure in failures
        if failure.error.code() in ROWS_FAULT and failure.record is not None and row_id(failure.record.headers)
    ]
    if not blamed:
        return None
    spared = {_place(failure) for failure in failures if failure.error.code() == _SPARED}
    together = Counter(_place(failure) for failure, _ in blamed)
    known, unknown = list[Refusal](), list[Refusal]()
    for failure, record in blamed:
        place = _place(failure)
        is_known = alone or together[place] == 1 or place in spared or _lacks_key(failure)
        (known if is_known else unknown).append(Refusal(record, failure.error.code(), failure.error.str()))
    return Blame(tuple(known), () if known else tuple(unknown))


def _place(failure: Failure) -> tuple[str, int] | None:
    return None if failure.record is None else (failure.record.topic, failure.partition)


def _lacks_key(failure: Failure) -> bool:
    """For what else it could be refused, Kafka itself knows no reason."""
    return (
        failure.error.code() == KafkaError.INVALID_RECORD and failure.record is not None and failure.record.key is None
    )
