"""Finding a place in the checkpoints topic."""

from tandem.kafka.client import KafkaConnection
from tandem.kafka.history import read_range, watermarks
from tandem.shipping.errors import DeltaError
from tandem.shipping.values import epoch_and_shipper

_TIMEOUT_S = 10.0
_FIRST_WINDOW = 16


def place_of(connection: KafkaConnection, topic: str, epoch: int) -> int:
    """An offset from which on all shipped epochs from `epoch` on are met, if they are still there.

    Looks back in windows that grow, one record in each. Raises `ReadTimeoutError`, `KafkaException`.
    """
    low, high = watermarks(connection, topic, _TIMEOUT_S)
    window = _FIRST_WINDOW
    while True:
        start = max(low, high - window)
        if start == low:
            return start
        for _, value in read_range(connection, topic, start, start + 1, _TIMEOUT_S):
            try:
                if epoch_and_shipper(value)[0] < epoch:
                    return start
            except DeltaError:
                continue
        window *= 4
