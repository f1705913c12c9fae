"""What a plan is made of is part of a job's identity: a replica with another plan does not join."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tandem.manifest.going_on import how_to_accept
from tandem.manifest.identity import engine_part, parts_of
from tandem.protocol.values import Config, Offsets
from tandem.replica.identity import Changes, Membership, OtherJobError, UnlikeError, as_planned, is_settled, joining
from tandem.replica.identity_parts import (
    agreed_tables,
    difference,
    different_in_plan,
    identity_of,
    is_same_job,
    plan_parts,
    with_plan,
)
from tandem.topics.declared import LogTopics

BASE = {"code": "c", "options": "o"}
PLAN = plan_parts({"the constant 3 of the plan": "1"}, {"parquet /rates": "v1"})
OTHER = plan_parts({"the constant 3 of the plan": "2"}, {"parquet /rates": "v1"})
MINE = Config(0, identity_of(BASE), Offsets({}), "x.replica-1.bb")
BEGUN = Config(0, identity_of(BASE | PLAN), Offsets({}), "x.replica-0.aa")


def test_a_job_that_never_ran_begins_with_the_plan_that_was_found() -> None:
    known, mine = as_planned(None, MINE, PLAN)

    assert known is None
    assert mine.digest == BEGUN.digest
    assert agreed_tables(mine) == {"parquet /rates": "v1"}


def test_who_begins_a_generation_says_whether_its_plan_needs_common_barriers() -> None:
    needs = replace(MINE, barriers=True)
    known, mine = as_planned(None, needs, PLAN)
    assert known is None
    assert mine.barriers
    candidate, _ = as_planned(Membership(replace(MINE, generation=1), candidate=True), needs, PLAN)
    assert candidate is not None
    assert candidate.config.barriers
    assert candidate.config.generation == 1


def test_a_replica_whose_plan_is_that_of_the_generation_joins() -> None:
    assert is_same_job(MINE.digest, BEGUN.digest)
    assert as_planned(Membership(BEGUN), MINE, PLAN)[0] == Membership(BEGUN)


@pytest.mark.parametrize(
    ("found", "named"),
    [
        (OTHER, "different is the constant 3 of the plan. The code takes it from its surroundings"),
        (
            plan_parts({"the constant 3 of the plan": "1"}, {"parquet /rates": "v2"}),
            "different is the static table parquet /rates",
        ),
        (plan_parts({}, {}), "different are the static table parquet /rates, the constant 3 of the plan"),
    ],
)
def test_a_replica_with_another_plan_is_refused_with_what_differs(found: dict[str, str], named: str) -> None:
    with pytest.raises(UnlikeError, match=named):
        as_planned(Membership(BEGUN), MINE, found)


def test_a_replica_whose_code_imports_other_code_is_refused_as_one_of_another_job() -> None:
    begun = replace(BEGUN, digest=with_plan(BEGUN.digest, plan_parts({"the module pricing": "1"}, {})))

    with pytest.raises(
        OtherJobError, match=r"code that its file imports is another \(different .*the module pricing\)"
    ):
        as_planned(Membership(begun), MINE, plan_parts({"the module pricing": "2"}, {}))


def test_where_plans_cannot_be_compared_the_next_generation_begins_if_that_is_asked_for() -> None:
    parts = {**parts_of(BEGUN.digest), "plan: format": "of another version"}
    begun = Membership(replace(BEGUN, digest=identity_of(parts)))

    assert as_planned(begun, MINE, OTHER)[0] == begun
    known, _ = as_planned(begun, MINE, OTHER, Changes(accepted=True, generation=1))
    assert known is not None
    assert (known.candidate, known.config.generation) == (True, 1)


def test_whose_plan_is_refused_is_given_commands_for_a_job_that_runs_and_for_one_that_is_stopped() -> None:
    changes = Changes(how=how_to_accept("rates.yaml", {}))

    with pytest.raises(
        UnlikeError, match=r"`tandem run rates\.yaml --accept-changes` when .*stopped, .*`tandem upgrade rates\.yaml`"
    ):
        as_planned(Membership(BEGUN), MINE, OTHER, changes)


def test_a_pod_whose_plan_is_refused_names_no_command_of_a_machine() -> None:
    changes = Changes(how=how_to_accept("/etc/job.yaml", {"POD_NAME": "rates-replica-0-abc"}))

    with pytest.raises(
        UnlikeError, match=r"next generation, apply the job with another value in spec\.job\.options"
    ) as said:
        as_planned(Membership(BEGUN), MINE, OTHER, changes)
    assert "tandem run" not in str(said.value)


def test_many_differences_of_a_plan_are_not_all_named() -> None:
    found = plan_parts({f"the constant {i} of the plan": "9" for i in range(8)}, {"parquet /rates": "v2"})

    assert different_in_plan(found, BEGUN) == (
        "different are the static table parquet /rates, the constant 0 of the plan, the constant 1 of the plan, "
        "the constant 2 of the plan, the constant 3 of the plan and 4 more"
    )
    assert different_in_plan(PLAN, BEGUN) == ""


def test_what_the_user_accepts_for_the_next_generation_is_another_plan_too() -> None:
    changes = Changes(accepted=True, generation=1)
    assert not is_settled(Membership(BEGUN), MINE, changes)

    known, _ = as_planned(Membership(BEGUN), MINE, OTHER, changes)

    assert known is not None
    assert known.candidate
    assert (known.config.generation, known.config.savepoint) == (1, "")
    assert known.config.digest == identity_of(BASE | OTHER)


def test_with_the_plan_that_it_has_a_job_goes_on_whatever_the_user_accepts() -> None:
    assert as_planned(Membership(BEGUN), MINE, PLAN, Changes(accepted=True, generation=1))[0] == Membership(BEGUN)


@pytest.mark.parametrize("generation", [None, 0, 2])
def test_another_plan_is_accepted_for_the_named_generation_only(generation: int | None) -> None:
    changes = Changes(accepted=True, generation=generation)
    assert is_settled(Membership(BEGUN), MINE, changes)

    with pytest.raises(UnlikeError):
        as_planned(Membership(BEGUN), MINE, OTHER, changes)


def test_a_pod_that_starts_after_its_generation_began_accepts_no_other_plan(tmp_path: Path) -> None:
    logs = LogTopics("x.ordering", "x.commits")
    changes = Changes(accepted=True, pin=tmp_path / "accepted-on-pod")
    known = joining(MINE, BEGUN, logs, changes.pinned(BEGUN.generation + 1))

    assert is_settled(known, MINE, changes)
    with pytest.raises(UnlikeError):
        as_planned(known, MINE, OTHER, changes)


def test_a_generation_from_before_plans_were_part_of_identities_goes_on() -> None:
    before = replace(BEGUN, digest=identity_of(BASE))

    assert as_planned(Membership(before), MINE, PLAN)[0] == Membership(before)
    assert agreed_tables(before) == {}


def test_a_plan_in_the_format_of_another_version_is_not_compared() -> None:
    before = replace(BEGUN, digest=identity_of(BASE | OTHER | {"plan: format": "0"}))

    assert as_planned(Membership(before), MINE, PLAN)[0] == Membership(before)


def test_with_a_savepoint_another_plan_is_the_next_generation() -> None:
    mine = replace(MINE, savepoint="s", base=7)

    known, _ = as_planned(Membership(BEGUN), mine, OTHER)

    assert known is not None
    assert known.candidate
    assert (known.config.generation, known.config.savepoint) == (1, "s")
    assert known.config.digest == identity_of(BASE | OTHER)


def test_with_the_savepoint_that_its_generation_began_with_a_replica_only_joins() -> None:
    begun = replace(BEGUN, generation=1, savepoint="s", base=7)

    with pytest.raises(UnlikeError):
        as_planned(Membership(begun), replace(MINE, savepoint="s", base=7), OTHER)


def test_a_candidate_takes_its_plan_into_its_config() -> None:
    candidate = Membership(replace(MINE, generation=1, savepoint="s", base=7), candidate=True)

    known, _ = as_planned(candidate, replace(MINE, savepoint="s", base=7), PLAN)

    assert known is not None
    assert known.candidate
    assert known.config.digest == BEGUN.digest


def test_other_code_is_named_without_the_plan_that_follows_from_it() -> None:
    assert not is_same_job(identity_of(BASE | {"code": "d"}), BEGUN.digest)
    assert difference(identity_of(BASE | {"code": "d"} | OTHER), BEGUN.digest) == (
        "different are the job's code (the bytes of spec.job.file or module)"
    )


AUTO = replace(MINE, digest=identity_of(BASE | {"engine": engine_part("auto")}))
REAL_TIME = {"engine": engine_part("realTime")}
FAST = plan_parts({"the constant 3 of the plan": "1"}, {"parquet /rates": "v1"}, "realTime")
BEGUN_FAST = replace(BEGUN, digest=identity_of(BASE | REAL_TIME | PLAN))


def test_what_the_engine_turns_out_to_be_counts_and_not_that_it_was_left_open() -> None:
    named = replace(MINE, digest=identity_of(BASE | REAL_TIME))

    assert as_planned(None, AUTO, PLAN)[1].digest == as_planned(None, MINE, PLAN)[1].digest == BEGUN.digest
    assert as_planned(None, AUTO, FAST)[1].digest == as_planned(None, named, FAST)[1].digest == BEGUN_FAST.digest


@pytest.mark.parametrize(("begun", "plan"), [(BEGUN, PLAN), (BEGUN_FAST, FAST)])
def test_a_replica_whose_engine_is_left_open_joins_a_job_with_that_which_its_plan_takes(
    begun: Config, plan: dict[str, str]
) -> None:
    assert is_same_job(AUTO.digest, begun.digest)
    assert as_planned(Membership(begun), AUTO, plan)[0] == Membership(begun)


@pytest.mark.parametrize(("begun", "plan"), [(BEGUN, FAST), (BEGUN_FAST, PLAN)])
def test_a_replica_whose_plan_takes_another_engine_is_refused_with_what_to_do(
    begun: Config, plan: dict[str, str]
) -> None:
    changes = Changes(how=how_to_accept("rates.yaml", {}))

    assert different_in_plan(plan, begun) == "different is the engine (spec.engine)"
    with pytest.raises(
        UnlikeError, match=r"another engine .* Name the engine that the job runs with in spec\.engine; or"
    ) as said:
        as_planned(Membership(begun), AUTO, plan, changes)
    assert str(said.value).endswith(changes.how)


@pytest.mark.parametrize(("begun", "parts"), [(BEGUN, BASE | REAL_TIME), (BEGUN_FAST, BASE)])
def test_a_replica_whose_manifest_names_another_engine_is_of_another_generation(
    begun: Config, parts: dict[str, str]
) -> None:
    assert not is_same_job(identity_of(parts), begun.digest)
    assert difference(identity_of(parts), begun.digest) == "different are spec.engine"


def test_another_engine_that_the_user_accepts_is_the_next_generation() -> None:
    known, _ = as_planned(Membership(BEGUN), AUTO, FAST, Changes(accepted=True, generation=1))

    assert known is not None
    assert (known.candidate, known.config.generation, known.config.digest) == (True, 1, BEGUN_FAST.digest)


def test_the_engine_counts_for_a_job_from_before_plans_were_part_of_identities() -> None:
    before = replace(BEGUN, digest=identity_of(BASE))

    with pytest.raises(UnlikeError, match="another engine"):
        as_planned(Membership(before), AUTO, FAST)
