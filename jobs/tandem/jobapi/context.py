"""What a job may ask Tandem for: the session, its options, and what the log knows of an epoch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from tandem.jobapi.errors import JobError
from tandem.jobapi.frames import metadata_column
from tandem.jobapi.questions import Per, Question, as_determinant
from tandem.manifest import SourceSpec

_BITS = 53
"""Of the fraction of a double."""


@dataclass(frozen=True, slots=True)
class JobContext:
    """The parameter `ctx` of a job: the session, `spec.job.options`, and what replaces clocks, randomness and outside calls.

    The columns that its methods give are made from the source's column `metadata`, so use them on a source's DataFrame,
    before `metadata` is dropped. Where a source's schema has a column of that name, the struct is `_metadata`, and if the
    job has other sources, too, say with `source` whose rows get the column.
    """

    spark: SparkSession
    options: Mapping[str, str]
    sources: Sequence[SourceSpec] = ()
    questions: dict[str, Question] = field(default_factory=dict)

    def epoch_time(self, source: str | None = None) -> Column:
        """The time of the row's epoch, a TIMESTAMP: when its cut was proposed; never goes back from epoch to epoch."""
        return F.col(f"{self._metadata(source)}.epoch_time")

    def rng(self, *columns: Column | str, source: str | None = None) -> Column:
        """A random DOUBLE in [0, 1), the same in every replica.

        Without `columns`, a number for each row. With them, a number for each of their values in an epoch: several draws
        for a row are `rng("metadata.seq", F.lit(0))`, `rng("metadata.seq", F.lit(1))`, …
        """
        metadata = self._metadata(source)
        drawn = F.xxhash64(f"{metadata}.epoch_seed", *(columns or (f"{metadata}.seq",)))
        return F.shiftrightunsigned(drawn, 64 - _BITS).cast("double") * F.lit(2.0**-_BITS)

    def ask(
        self,
        name: str,
        function: Callable[[Any], Any],
        source: str | None = None,
        per: Per = "record",
        timeout: float = 5.0,
        retries: int = 2,
        batch: int = 100,
    ) -> Column:
        """Ask the outside world, once for all replicas and restarts: a STRING, null if nobody answered in time.

        The function is called in the driver, before Spark runs the epoch, perhaps in more than one replica; the answer that
        stands first in the log is used by all. It should have a time-out of its own: a call that is given up still runs.

        `name` : of the question, unlike that of any other question of the job.
        `function` : per record, takes a list of records with `key` and `value` (bytes or None, not parsed: it may be
        given poison), and returns a list with a string or None for each. Per epoch, takes the epoch's time (Unix, ms)
        and returns one string or None, of at most 16 kB, since each record of the epoch gets a copy.
        `source` : the source that is asked about; may be left out if the job has only one.
        `timeout`, `retries` : seconds for one call, and how often a failed call is made again.
        `batch` : records in one call at most; the calls of an epoch are made at the same time, eight at most.

        Raises `JobError`: a parameter makes no sense.
        """
        known = {spec.name: spec for spec in self.sources}
        if source is None and len(known) == 1:
            (source,) = known
        if source not in known:
            raise JobError(f"question {name!r} is about the source {source!r}. Name one of {sorted(known)}")
        if name in self.questions:
            raise JobError(
                f"question {name!r} is asked twice. Give each question a name of its own, or use its column twice"
            )
        if per not in ("record", "epoch") or not name or not callable(function):
            raise JobError(f"question {name!r}: give a name, a function, and per='record' or per='epoch'")
        if timeout <= 0 or retries < 0 or batch < 1:
            raise JobError(f"question {name!r}: timeout must be more than 0 s, retries at least 0, batch at least 1")
        topics = frozenset(known[source].topics)
        self.questions[name] = Question(name, function, topics, per, timeout, retries, batch)
        return F.col(f"{self._metadata(source)}.answers")[name]

    def determinant(
        self,
        name: str,
        function: Callable[[int], Any],
        schema: str = "STRING",
        source: str | None = None,
        timeout: float = 5.0,
        retries: int = 2,
    ) -> Column:
        """Anything else that replicas would not agree on by themselves, found out once for each epoch with input.

        What a file says now, which version of a model is the newest, what this machine's clock shows: every replica
        gets what stands first in the log (Clonos' user-defined determinants). Null if nobody found out in time.

        `name` : unlike that of any other determinant or question of the job.
        `function` : takes the epoch's time (Unix, ms) and returns a value that JSON can express, or None; 16 kB at most.
        `schema` : the type of the column, as DDL: `DOUBLE`, `STRUCT<low: INT, high: INT>`.
        `source` : whose rows get the column; may be left out if the job has only one.
        `timeout`, `retries` : seconds for one call, and how often a failed call is made again.

        Raises `JobError`: a parameter makes no sense.
        """
        if not callable(function):
            raise JobError(f"determinant {name!r}: give a function of the epoch's time")

        answer = self.ask(name, as_determinant(function, schema), source, "epoch", timeout, retries)
        self.questions[name] = replace(self.questions[name], is_determinant=True)
        return F.from_json(answer, f"value {schema}")["value"]

    def _metadata(self, source: str | None) -> str:
        """The struct of a source, or of all sources if none is named."""
        names = {spec.name: metadata_column(spec, self.spark) for spec in self.sources}
        if source is not None and source not in names:
            raise JobError(f"there is no source {source!r}. Name one of {sorted(names)}")
        found = set(names.values()) if source is None else {names[source]}
        if len(found) > 1:
            raise JobError(
                f"the struct with the epoch's time and seed has another name in each of the sources {names}, since a schema "
                "has a column metadata. Say with source=… whose rows get the column"
            )
        return found.pop() if found else "metadata"
