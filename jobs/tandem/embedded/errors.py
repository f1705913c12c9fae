"""What can go wrong around embedded servers. Every message says what, where, and how to mend it."""


class EmbeddedError(RuntimeError):
    """Something about an embedded Kafka or ZooKeeper failed; the parent of all below."""


class JavaMissingError(EmbeddedError):
    """There is no Java, or it is too old."""


class JarsError(EmbeddedError):
    """The jars could not be resolved, or the cache is incomplete."""


class ServerError(EmbeddedError):
    """A server did not start, died early, or did not stop; the message ends with the tail of its log."""
