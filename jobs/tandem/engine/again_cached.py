"""What Spark's Python workers need to make a cached function of one that was sent to them."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any


def again_cached(function: Callable[..., Any], parameters: Mapping[str, Any]) -> Callable[..., Any]:
    """The function with an empty `lru_cache` of these parameters."""
    cached: Callable[..., Any] = lru_cache(**parameters)(function)
    return cached
