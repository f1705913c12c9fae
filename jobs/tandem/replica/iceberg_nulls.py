"""Nulls that pyiceberg 0.12 writes as empty: it builds arrays and maps of structs again, without what says which are null.

Its `ArrowProjectionVisitor` gives each column the table's field ids before it is written, also one within another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

_METHODS: Final = ("list", "map")
_MARK: Final = "tandem_keeps_nulls"


def keep_nulls() -> None:
    """From now on, what is null is written as null in this process. Where the library keeps it, nothing is changed."""
    from pyiceberg.io.pyarrow import ArrowProjectionVisitor

    for name in _METHODS:
        method = getattr(ArrowProjectionVisitor, name)
        if not hasattr(method, _MARK):
            setattr(ArrowProjectionVisitor, name, _keeping(method))


def _keeping(method: Callable[..., Any]) -> Callable[..., Any]:
    def kept(self: Any, kind: Any, given: Any, *inner: Any) -> Any:
        found = method(self, kind, given, *inner)
        if found is None or found.null_count == given.null_count:
            return found
        return pc.if_else(given.is_valid(), found, pa.scalar(None, found.type))

    setattr(kept, _MARK, True)
    return kept
