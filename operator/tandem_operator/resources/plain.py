"""Parts of the manifest as the Kubernetes API has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel


def plain(value: Any) -> Any:
    """A model, or what contains models, as JSON values with camelCase keys; None is an empty mapping."""
    if value is None:
        return {}
    if isinstance(value, BaseModel):
        return plain(value.model_dump(mode="json", by_alias=True, exclude_unset=True))
    if isinstance(value, Mapping):
        return {key: child if child is None else plain(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [plain(child) for child in value]
    return value
