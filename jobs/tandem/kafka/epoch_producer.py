"""What publishes whole epochs."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from tandem.kafka.records import OutputRecord
from tandem.kafka.refusals import Failure
from tandem.protocol.actions import Outcome
from tandem.protocol.transaction_time import FIRST_S


class EpochProducer(Protocol):
    """Publishes whole epochs. `publish` never raises for what the protocol can heal: it says how it ended.

    Records that the broker takes never are raised: `RowsRefusedError`.
    """

    failures: Sequence[Failure]
    """Why the last `publish` did not succeed."""

    def start(self, timeout_s: float, transaction_s: float = FIRST_S) -> None:
        """Get ready to publish, making sure that nothing of an earlier producer of this identity is still open.

        Transactions may take `transaction_s` from now on.
        """

    def publish(self, records: Iterable[OutputRecord], marker: OutputRecord, timeout_s: float) -> Outcome:
        """Publish the records, then the marker."""

    def rest(self) -> None:
        """To be called now and then while nothing is published: what the client has to say would pile up."""

    def ready(self) -> None:
        """Do what the next epoch needs and can be done before it is there. To be called when there is nothing else to do."""

    def close(self) -> None:
        """Give the producer up."""
