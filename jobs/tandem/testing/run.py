"""`run_epochs`: a job's rows of a test's inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tandem.manifest import Manifest
from tandem.testing.answers import Answered, answering
from tandem.testing.epochs import Inputs, cut
from tandem.testing.jobs import Job, manifest_of
from tandem.testing.rows import Result, rows_of
from tandem.testing.running import compute, prepared
from tandem.testing.session import archives, session_for


def run_epochs(
    job: Job,
    inputs: Inputs,
    *,
    cuts: Sequence[int] | None = None,
    times_ms: Sequence[int] | None = None,
    seeds: Sequence[int] | None = None,
    answers: Mapping[str, object] | None = None,
    schemas: Mapping[str, str] | None = None,
    sinks: Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
    timeout_s: float = 120.0,
) -> Result:
    """Compute a job's epochs as a replica does, in this process, without Kafka; see `tandem.testing`.

    The session of Spark is started by the first test, takes some seconds, and is used again by all others that need the same
    `spec.spark`. Tables are not written, and `spec.executors` is left out of account. What only brokers know, as how many
    partitions a topic has, is not judged.

    Parameters
    ----------
    job : the path of a manifest, a loaded one, or the job's function, which has to be at the top level of a file.
    inputs : source → its records: dicts (written as JSON), text, bytes, None (tombstones), pairs of key and value, or
        `Record`s. A list for each epoch; or one list, which `cuts` divides, and is one epoch without. A source with fewer
        epochs than another has no records in the last ones.
    cuts : where epochs end: before how many records of each source. The last epoch has what is left.
    times_ms : of each epoch, Unix, ms; never goes back. Default: 2024-01-01T00:00:00Z, and a second later for each epoch.
    seeds : of each epoch, for `ctx.rng()`. Default: 0, 1, 2, …
    answers : question of `ctx.ask` or name of `ctx.determinant` → a constant, or a function that takes and gives what the
        job's own function does. Each that the job has needs one: a test asks nobody outside.
    schemas, sinks, options : of a job that is a function. Source → its columns in Spark's DDL, which makes it
        `format: json` (default: all are raw); the names of its sinks, all topics (default: `out`); what is in `ctx.options`.
    timeout_s : for all epochs together.

    Raises
    ------
    ManifestError, OSError, CodeNotFoundError
        The manifest, or the job's code, cannot be used.
    ValueError, TypeError
        An input or another parameter makes no sense; the text says which.
    JobError
        What stops a replica: a plan that Tandem refuses, or what the job's code raises (`EpochError`, with the record).
    TimeoutError
    RuntimeError
        This process has a session of Spark that does not fit.
    """
    manifest = manifest_of(job, list(inputs), schemas, sinks, options)
    spec = manifest.spec
    epochs = cut(inputs, spec.sources, cuts, times_ms, seeds)
    session = session_for(manifest)
    with prepared(session, manifest, archives()) as (ready, folder):
        causal = answering(tuple(ready.causal.questions.values()), answers or {})
        ordered = is_ordered(manifest)
        found = compute(ready, folder, epochs, causal, Answered(), ordered, timeout_s)
    rows = tuple(row for epoch in found.epochs for row in rows_of(epoch.epoch, epoch.table))
    return Result(tuple(sink.name for sink in spec.sinks), len(found.epochs), rows, found.late_rows)


def is_ordered(manifest: Manifest) -> bool:
    """Whether one task computes an epoch's rows, whose order is kept; as in `replica.active`."""
    return manifest.spec.spark.parallelism == 1
