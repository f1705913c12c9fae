"""The registry of `tandem dev`, with what tests ask of it."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

from tandem.devservers import RegistryServer as DevRegistry


class RegistryServer(DevRegistry):
    """A registry whose schemas survive restarts."""

    def register(self, subject: str, schema: object, kind: str = "AVRO") -> int:
        """Register a schema: a text, or a tree of Avro; its id."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        return int(self.ask(f"/subjects/{subject}/versions", {"schema": text, "schemaType": kind})["id"])

    def ask(self, path: str, body: object = None) -> Any:
        """GET, or POST of `body`."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})  # noqa: S310
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            return json.load(answer)
