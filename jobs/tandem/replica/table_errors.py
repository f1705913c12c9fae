"""What is raised where a sink's table is not written, and whether it may be later."""

from __future__ import annotations


class TableError(Exception):
    """A table cannot be written."""


class TableUnreachableError(Exception):
    """A table's file system does not answer; it may answer later."""


class TableAheadError(TableUnreachableError):
    """A table has later epochs than the one to be written: that was published, or they are of another run."""


class LaterGenerationError(Exception):
    """A later generation of the job writes the table."""
