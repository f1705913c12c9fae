"""What can go wrong between Tandem and Kafka, in words for the user of the job."""


class TandemKafkaError(Exception):
    """Base of the errors of this package."""


class LostInputError(TandemKafkaError):
    """Records that were not read yet are gone: retention deleted them, or the topic was made again. Never skipped."""


class RecreatedTopicError(LostInputError):
    """An input topic was deleted and created again: it is another topic, whose records are others."""


class UnreadableInputError(TandemKafkaError):
    """A batch of records that is there cannot be read: it is damaged, or larger than the client unpacks. Never skipped."""


class MissingProposalError(LostInputError, ValueError):
    """The ordering topic has another record where the job's state says that one of its own stands."""


class ReadTimeoutError(TandemKafkaError):
    """A read did not come to its end in time."""


class MissingTopicError(TandemKafkaError):
    """A topic that the job reads or writes does not exist."""


class TopicMismatchError(TandemKafkaError):
    """A topic exists, but not as the job needs it."""


class UndeletedTopicError(TandemKafkaError):
    """A topic that is to go cannot be deleted."""


class ConnectionFailedError(TandemKafkaError):
    """No broker could be reached, or it refused the credentials."""


class NotAllowedError(TandemKafkaError):
    """The brokers do not let this account, or this configuration, publish. Trying again would not help."""


class TransactionTooSlowError(TandemKafkaError):
    """An epoch cannot be published in the longest time that a transaction may take."""


class FencingTimeoutError(TandemKafkaError):
    """A transactional id could not be fenced in time."""


class ProducerLostError(TandemKafkaError):
    """The transactional producer could not be initialised in time."""
