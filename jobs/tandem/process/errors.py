"""What can go wrong with a child process. Every message says what, where, and what to do."""


class EmbeddedError(RuntimeError):
    """Something about a local Kafka, ZooKeeper or Java failed; the parent of all that have to do with these."""


class ServerError(EmbeddedError):
    """A server did not start, died early, or did not stop; the message ends with the tail of its log."""
