"""What a generation may not change, in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tandem.manifest import Manifest, config_parts
from tandem.manifest.models import ReplicatedStreamJob
from tandem.process.info import RefusedError
from tandem.protocol.values import Config, Offsets, TopicPartition
from tandem.replica.identity import Changes, check_upgrade, joining
from tandem.replica.identity_parts import identity_of
from tandem.topics.declared import LogTopics


def config(*topics: str, delivery: str = "exactlyOnce", partitions: int = 1) -> Config:
    start = Offsets({TopicPartition(topic, p): 0 for topic in topics for p in range(partitions)})
    return Config(0, identity_of({"code": topics[0], "delivery": delivery}), start, "replica-0")


def test_a_generation_may_have_other_code_and_find_more_partitions() -> None:
    check_upgrade(config("orders", partitions=3), config("orders"))


def test_a_generation_reads_the_same_topics() -> None:
    with pytest.raises(RefusedError, match=r"other inputs than the job: new is refunds, missing is orders\. Give"):
        check_upgrade(config("refunds"), config("orders"))


def test_a_generation_publishes_in_the_same_way() -> None:
    with pytest.raises(RefusedError, match=r"cannot change spec\.delivery"):
        check_upgrade(config("orders", delivery="atLeastOnce"), config("orders"))


def test_a_generation_keeps_the_names_of_tandem_s_own_topics() -> None:
    with pytest.raises(RefusedError, match=r"publish what is published\. Put back the old names, or .* metadata\.name"):
        check_upgrade(of_topics("new"), of_topics("old"))


def of_topics(names: str) -> Config:
    return replace(config("orders"), digest=identity_of({"code": "c", "topics": names, "delivery": "exactlyOnce"}))


LOGS = LogTopics("orders.ordering", "orders.commits")
COMMAND = "tandem run orders.yaml --accept-changes"


def changed(job: Config) -> Config:
    return replace(job, digest=identity_of({"code": "other", "delivery": "exactlyOnce"}))


def test_a_changed_job_is_refused_with_the_command_that_lets_it_go_on() -> None:
    with pytest.raises(
        RefusedError, match=rf"different are the job's code .*stop the job and start it with `{COMMAND}`"
    ):
        joining(changed(config("orders")), config("orders"), LOGS, Changes(command=COMMAND))


def test_a_job_with_other_inputs_is_refused_without_a_command_that_would_refuse_it_as_well() -> None:
    with pytest.raises(RefusedError, match=r"other inputs: new is refunds\. .* change spec\.sources back") as refused:
        joining(changed(config("orders", "refunds")), config("orders"), LOGS, Changes(command=COMMAND))
    assert COMMAND not in str(refused.value)


@pytest.mark.parametrize("changes", [Changes(command=COMMAND), Changes(accepted=True, command=COMMAND)])
def test_other_names_of_tandem_s_own_topics_are_refused_whether_or_not_changes_are_accepted(changes: Changes) -> None:
    with pytest.raises(RefusedError, match=r"\(spec\.kafka\.topics\) are not those that replica-0 began") as refused:
        joining(of_topics("new"), of_topics("old"), LOGS, changes)
    assert COMMAND not in str(refused.value)


@pytest.mark.parametrize("changes", [Changes(command=COMMAND), Changes(accepted=True)])
@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 4), (4, 1)])
def test_another_number_of_lanes_is_refused_in_one_lane_whether_or_not_changes_are_accepted(
    changes: Changes, before: int, after: int
) -> None:
    running, mine = (with_lanes(config("orders"), lanes) for lanes in (before, after))
    with pytest.raises(
        RefusedError, match=rf"the job runs with spec\.lanes: {before}, by.* Set it to {before}"
    ) as refused:
        joining(mine, running, LOGS, changes)
    assert (f"stop all lanes and run `{COMMAND}`" in str(refused.value)) == bool(changes.command)
    assert joining(running, running, LOGS, changes).config is running


def with_lanes(job: Config, lanes: int) -> Config:
    spec = {
        "lanes": lanes,
        "job": {"file": "job.py"},
        "kafka": {"bootstrapServers": "kafka:9092"},
        "sources": [{"name": "orders", "topics": ["orders"]}],
        "sinks": [{"name": "out", "topic": "out"}],
        "ordering": {"mode": "heartbeat"},
    }
    model = ReplicatedStreamJob.model_validate({"metadata": {"name": "orders"}, "spec": spec})
    parts = config_parts(Manifest(model, Path("orders.yaml"), Path()), b"")
    return replace(job, digest=identity_of({**parts, "topics": "those of its lane"}))


def test_a_change_that_is_accepted_is_a_candidate_for_the_next_generation() -> None:
    running = replace(config("orders"), generation=3)

    found = joining(changed(running), running, LOGS, Changes(accepted=True, generation=4))

    assert found.candidate
    assert found.config.generation == 4


def test_a_generation_is_of_the_same_lane_as_the_one_before() -> None:
    running = replace(config("orders"), generation=3, lane=1, lanes=4, moved=True, base=20)

    found = joining(changed(config("orders")), running, LOGS, Changes(accepted=True)).config

    assert (found.lane, found.lanes, found.moved, found.start) == (1, 4, False, running.start)


def test_a_change_is_accepted_once_and_not_whatever_changes_later() -> None:
    running = replace(config("orders"), generation=4)

    with pytest.raises(RefusedError, match="If the change is meant"):
        joining(changed(running), running, LOGS, Changes(accepted=True, generation=4, command=COMMAND))


def test_what_was_accepted_first_is_accepted_again_after_a_restart_and_nothing_later(tmp_path: Path) -> None:
    first = Changes(accepted=True, pin=tmp_path / "folder" / "accepted").pinned(3)
    later = Changes(accepted=True, pin=tmp_path / "folder" / "accepted").pinned(5)

    assert first.generation == later.generation == 3
    assert Changes(pin=tmp_path / "other").pinned(3).generation is None
