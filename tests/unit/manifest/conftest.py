"""A good manifest, and files made from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

GOOD = """\
# Delays of flights, as a user would write it.
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata:
  name: flights
spec:
  job:
    file: job.py
    function: flights
  replicas: 2
  delivery: exactlyOnce
  kafka:
    bootstrapServers: localhost:9092
    properties: {}
    secretProperties: {}
    topics: {}
  zookeeper:
    connect: localhost:2181
  sources:
    - name: flights
      topics: [flights]
      format: json
      schema: carrier STRING, dep_delay DOUBLE
    - name: weather
      topics: [weather]
  sinks:
    - name: delays
      topic: delays
    - name: archive
      parquet:
        path: /data/out
  ordering:
    mode: leader
  takeOver: {}
  spark: {}
"""

Edit = tuple[str, str]
Writer = Callable[..., Path]


@pytest.fixture
def good() -> str:
    """The text of a manifest without a mistake."""
    return GOOD


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    """Writes the good manifest, with some texts replaced by others, and the code of its job."""

    def writer(*edits: Edit, code: str | None = "def flights(flights, weather):\n    return flights\n") -> Path:
        text = GOOD
        for old, new in edits:
            assert text.count(old) == 1, f"{old!r} is not once in the good manifest"
            text = text.replace(old, new)
        if code is not None:
            (tmp_path / "job.py").write_text(code)
        path = tmp_path / "flights.yaml"
        path.write_text(text)
        return path

    return writer
