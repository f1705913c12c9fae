"""What Tandem asks of an engine. Nothing here assumes that epochs are micro-batches."""

from collections.abc import Callable

import pyarrow as pa

OnEpoch = Callable[[int, pa.Table, str], None]
"""Called with each epoch, in order without gaps, its output rows (see `engine.output` for the columns), and which records
they were computed from (`Fetched.inputs`)."""

OnFailure = Callable[[BaseException], None]
"""Called, by any thread, with what ended the computing."""


class StoppedError(Exception):
    """This part of the replica was stopped, by a part that knows why."""
