"""A job with heartbeats, written into a folder: for what reads its manifest, and starts nothing of it."""

from __future__ import annotations

from pathlib import Path

from tandem.manifest import Manifest, load

_MANIFEST = """
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata: {name: flights}
spec:
  job: {file: job.py}
  replicas: REPLICAS
  kafka: {bootstrapServers: "localhost:1"}
  sources: [{name: events, topics: [in]}]
  sinks: [{name: out, topic: out}]
  ordering: {mode: heartbeat, generators: 1}
"""


def heartbeat_job(folder: Path, replicas: int = 2) -> Manifest:
    """Write `flights.yaml` and its code into `folder`."""
    (folder / "job.py").write_text("def job(events):\n    return events.select('key', 'value')\n")
    path = folder / "flights.yaml"
    path.write_text(_MANIFEST.replace("REPLICAS", str(replicas)))
    return load(path)
