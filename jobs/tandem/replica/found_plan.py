"""`python -m tandem.replica.found_plan ORDER`: makes a job's plan as a replica would, and says what it is made of."""

import json
import os
import shutil
import sys
import uuid
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

from tandem import logs
from tandem.engine.jvm.errors import JarsError, JavaMissingError
from tandem.engine.prepared import PreparedJob
from tandem.jobapi.errors import JobError
from tandem.kafka.client import KafkaConnection
from tandem.manifest import CodeNotFoundError, Manifest, find_code, load
from tandem.manifest.fact_hashes import hashes
from tandem.process.info import RefusedError
from tandem.replica.formats import formats_of
from tandem.replica.identity_parts import plan_parts
from tandem.replica.leftovers import alive
from tandem.replica.partitioning import PartitionedSources, refuse_scattered
from tandem.replica.spark_runtime import SparkRuntime

_NAME: Final = "look"
_REFUSALS: Final = (JobError, RefusedError, CodeNotFoundError, JavaMissingError, JarsError)


def main(order: Mapping[str, str]) -> None:
    """Write the parts, or why there are none, to the file `result` of the order."""
    logs.configure("WARNING")
    manifest = load(Path(order["manifest"]))
    try:
        found: dict[str, Any] = {"parts": _parts(manifest, "new_lanes" in order)}
    except _REFUSALS as error:
        found = {"refused": str(error)}
    Path(order["result"]).write_text(json.dumps(found))


def _parts(manifest: Manifest, new_lanes: bool) -> dict[str, str]:
    incarnation = f"{manifest.name}.{_NAME}.{uuid.uuid4().hex[:8]}"
    folder = manifest.checkpoint_directory / incarnation
    try:
        with alive(folder):
            computing = SparkRuntime(manifest, _NAME, incarnation, folder, {})
            try:
                formats = formats_of(manifest, {})
                code = find_code(manifest)
                job = computing.prepare(code, _unused, _untimed, _unused, None, lambda _: None, formats).job
                if new_lanes:
                    _refuse_scattered(manifest, job)
                return plan_parts(hashes(job.facts), job.tables, job.choice.engine, formats.pins.parts())
            finally:
                computing.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _refuse_scattered(manifest: Manifest, job: PreparedJob) -> None:
    """As before the first start of a job with so many lanes: what one lane has counted does not show it."""
    connection = KafkaConnection(manifest.kafka_properties(os.environ)).silent
    refuse_scattered(PartitionedSources(connection, job.intake, job.relied_on, manifest.spec.lanes))


def _unused(*_: object) -> Any:
    raise AssertionError("nothing is read while a plan is looked at")


def _untimed(_phase: str) -> Any:
    return nullcontext()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(os.EX_OK)
