"""For readers of a job's output with `delivery: atLeastOnce`: a consumer that drops the repeated rows.

`filter` decides, `client` talks to Kafka. Readers of an `exactlyOnce` output need neither: an ordinary consumer with
`isolation.level=read_committed` sees each row once.
"""

from tandem.consumer.client import EpochConsumer
from tandem.consumer.filter import EpochFilter

__all__ = ["EpochConsumer", "EpochFilter"]
