"""What can go wrong around Java and its jars. Every message says what, where, and what to do."""

from tandem.process.errors import EmbeddedError


class JavaMissingError(EmbeddedError):
    """There is no Java, or it is too old."""


class JarsError(EmbeddedError):
    """The jars could not be resolved, or the cache is incomplete."""
