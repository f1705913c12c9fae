"""What cannot go on with another number of lanes, found before anything is written. Pure, but for the job's code."""

from collections.abc import Mapping

from tandem.manifest import Manifest, config_parts, find_code
from tandem.manifest.identity import lanes_of, parts_of
from tandem.process.info import RefusedError
from tandem.protocol.values import Config
from tandem.replica.identity_parts import difference, different_in_plan, identity_of, is_same_job


def check_changeable(job: Manifest, before: int, inputs: Mapping[str, int]) -> None:
    """Raise `RefusedError` if `job`, the whole, cannot go on from `before` lanes. `inputs`: topic → number of partitions."""
    spec, back = job.spec, f"Set it to {before}, as before"
    if spec.ordering.mode == "none":
        raise RefusedError("with spec.ordering.mode: none replicas agree on nothing, so spec.lanes cannot change")
    if any(source.table is not None for source in spec.sources):
        raise RefusedError(
            f"spec.lanes of a job with tables from topics cannot change: every lane has all their rows. {back}"
        )
    others = [sink.name for sink in spec.sinks if sink.topic is None]
    if others:
        raise RefusedError(
            f"spec.lanes cannot change while the job has sinks that are no Kafka topics ({', '.join(others)}): what they "
            f"hold is divided by lanes, too. {back}"
        )
    by_lane = [sink.name for sink in spec.sinks if sink.partition_by == "lane"]
    if by_lane:
        raise RefusedError(
            f"spec.lanes cannot change while rows of a lane have partitions of their own (sinks[].partitionBy: lane, "
            f"{', '.join(by_lane)}): keys would go to other partitions, and rows of one key could be read in another order. "
            f"{back}, or change the sink to partitionBy: key first"
        )
    few = sorted(topic for topic, partitions in inputs.items() if partitions < spec.lanes)
    if few:
        raise RefusedError(
            f"spec.lanes is {spec.lanes}, but topic {few[0]} has {inputs[few[0]]} partitions: some lanes would read nothing"
        )


def is_changed(config: Config, lanes: int) -> bool:
    """Whether a lane's log has gone on with `lanes` lanes by a change of their number, or has ended with that change."""
    return config.moved and lanes_of(parts_of(config.digest)) == lanes


def check_same(lane: Manifest, accepted: Config, plan: Mapping[str, str], before: int) -> None:
    """Raise `RefusedError` if more than the number of lanes is not as it was when `accepted` began: one change at a time.

    `lane` : one of the `before` lanes, in the manifest as it is now. `plan` : see `plan_parts`.
    """
    mine = identity_of(config_parts(lane, find_code(lane).content))
    changed = "" if is_same_job(mine, accepted.digest) else difference(mine, accepted.digest)
    changed = changed or different_in_plan(plan, accepted)
    if changed:
        raise RefusedError(
            f"more than spec.lanes has changed: {changed}. One change at a time: set spec.lanes to {before} and accept the "
            "rest, or change the rest back"
        )
