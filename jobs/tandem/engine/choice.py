"""Which engine runs a job: the one that its manifest names, or the one that its plan allows. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from tandem.engine.real_time_limits import Limit, PlanFacts, keeps_state, limits
from tandem.jobapi.errors import JobError
from tandem.manifest import Manifest, Spec

Engine = Literal["microBatch", "realTime"]
_SAME: Final = "both engines publish the same rows of this job"


@dataclass(frozen=True, slots=True)
class Choice:
    """An engine, and why it was chosen, in words; "": the manifest names it."""

    engine: Engine = "microBatch"
    reason: str = ""

    @property
    def words(self) -> str:
        """Both: `microBatch: the job has a Python UDF (normalize)`."""
        return f"{self.engine}: {self.reason}" if self.reason else self.engine


def choose_engine(facts: Callable[[], PlanFacts], manifest: Manifest) -> Choice:
    """The engine of a job.

    Parameters
    ----------
    facts : of its plan; asked for only where the choice depends on them.
    manifest : names an engine, or leaves it to the plan.

    Raises
    ------
    JobError
        The manifest names the real-time engine, and that cannot run the plan.
    """
    engine = manifest.spec.engine
    if engine == "microBatch":
        return Choice()
    plan = facts()
    found = sorted([*_of_manifest(manifest.spec, plan), *limits(plan)], key=lambda limit: limit.runs)
    if engine == "auto":
        return Choice("microBatch", _against(found[0])) if found else Choice("realTime", _SAME)
    refused = [limit for limit in found if not limit.runs]
    if refused:
        what = "; ".join(limit.words for limit in refused)
        raise JobError(f"spec.engine: realTime cannot run this job. It has {what}; or set spec.engine: microBatch")
    return Choice("realTime")


def _against(limit: Limit) -> str:
    return f"the job has {limit.what}" + (f", and {limit.why}" if limit.runs else "")


def _of_manifest(spec: Spec, plan: PlanFacts) -> Iterator[Limit]:
    tables = [source.name for source in spec.sources if source.table is not None]
    if tables:
        yield Limit(
            f"a source that is a table ({tables[0]})",
            "each change of it makes the real-time engine pause for some tenths of a second; how often that is, "
            "nobody knows before",
            "",
            runs=True,
        )
    if spec.job.on_error == "deadLetter" and (tables or keeps_state(plan)):
        yield Limit(
            f"spec.job.onError: deadLetter and {'a source that is a table' if tables else 'an operator with state'}",
            "the record that makes an epoch fail is looked for on the state before it, which is not kept there",
            "Remove onError",
        )
    if spec.executors.instances:
        yield Limit("executors", "the real-time engine runs in the replica itself", "Remove spec.executors")
    if spec.spark.parallelism > 1:
        yield Limit(
            f"state in {spec.spark.parallelism} partitions (spec.spark.parallelism)",
            "the real-time engine keeps it in one",
            "Remove parallelism",
        )
