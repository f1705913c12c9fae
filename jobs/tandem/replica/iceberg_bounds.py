"""A statistic that pyiceberg 0.12 cannot write: the bound above texts with the character U+D7FF at a certain place.

It cuts the largest text of a column to 16 characters, and takes the next character in the place of the last one. Behind
U+D7FF come the surrogates, which no text can have.
"""

from __future__ import annotations

from typing import Any, Final

_NAME: Final = "truncate_upper_bound_text_string"
_MARK: Final = "tandem_knows_surrogates"
_FIRST_SURROGATE, _BEHIND_SURROGATES = "\ud800", "\ue000"


def bound_texts() -> None:
    """From now on, bounds of texts are texts in this process."""
    from pyiceberg.io import pyarrow

    writing: Any = pyarrow
    cut = getattr(writing, _NAME)
    if hasattr(cut, _MARK):
        return

    def bound(value: str, length: int | None) -> str | None:
        found: str | None = cut(value, length)
        return None if found is None else found.replace(_FIRST_SURROGATE, _BEHIND_SURROGATES)

    setattr(bound, _MARK, True)
    setattr(writing, _NAME, bound)
