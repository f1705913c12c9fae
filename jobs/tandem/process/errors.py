"""What can go wrong with a process on this machine. Every message says what, where, and what to do."""


class EmbeddedError(RuntimeError):
    """Something about a local Kafka, ZooKeeper or Java failed; the parent of all that have to do with these."""


class ServerError(EmbeddedError):
    """A server did not start, died early, or did not stop; the message ends with the tail of its log."""


class PortTakenError(Exception):
    """A process cannot serve its metrics and probes on the port that it has."""


class StateError(Exception):
    """A job's state cannot be read or divided; the parent of the errors of `tandem.state`, which are Spark's."""
