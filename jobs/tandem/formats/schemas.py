"""A schema as a registry has it: text, kind, and the schemas that it refers to. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

KINDS: Final = {"avro": "AVRO", "protobuf": "PROTOBUF"}
"""Format in the manifest → the registry's word for its schemas."""


class SchemaError(ValueError):
    """A schema that cannot be used: it is none of its kind, or has what Spark has no type for."""


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """One schema; `id` −1: it is not in the registry, but in the manifest.

    `kind` : AVRO, PROTOBUF or JSON.
    `references` : name by which `text` refers to another schema → that schema.
    """

    id: int
    kind: str
    text: str
    references: tuple[tuple[str, RegisteredSchema], ...] = ()

    @property
    def digest(self) -> str:
        """16 hex digits, of all but the id: what a registry that was made again may have under the same id."""
        return hashlib.sha256(json.dumps(self._content()).encode()).hexdigest()[:16]

    def tree(self) -> dict[str, Any]:
        """For JSON; `of_tree` reads it."""
        references = [[name, schema.tree()] for name, schema in self.references]
        return {"id": self.id, "kind": self.kind, "text": self.text, "references": references}

    @staticmethod
    def of_tree(tree: Mapping[str, Any]) -> RegisteredSchema:
        """The inverse of `tree`."""
        references = tuple((name, RegisteredSchema.of_tree(one)) for name, one in tree["references"])
        return RegisteredSchema(tree["id"], tree["kind"], tree["text"], references)

    def _content(self) -> list[Any]:
        return [self.kind, self.text, [[name, schema._content()] for name, schema in self.references]]
