"""What a row's columns must be, whatever the format of its schema."""

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa


def twice(kind: pa.StructType, below: str) -> Iterator[str]:
    """Columns of one name: Spark may have them, a record has one field of a name. `below` : where they are, e.g. `a.`."""
    for name, count in Counter(kind.names).items():
        if count > 1:
            yield f"{count} columns are called {below}{name}: give each a name of its own"
