"""Which engine a job gets: by its manifest, and by what its plan is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tandem.engine.choice import Choice, choose_engine
from tandem.engine.real_time_limits import MOST_SCANS, NOT_IN, PlanFacts
from tandem.engine.session import LASTING_TASKS
from tandem.jobapi.errors import JobError
from tandem.manifest import Manifest, parse

Plan = list[dict[str, Any]]


def node(name: str, *below: Plan, **fields: Any) -> Plan:
    """An operator as Spark writes it, before those below it."""
    return [{"class": f"a.{name}", "num-children": len(below), **fields}, *(one for plan in below for one in plan)]


def expression(kind: str, /, **fields: Any) -> list[dict[str, Any]]:
    return [{"class": f"e.{kind}", "num-children": 0, **fields}]


STREAM = node("StreamingExecutionRelation", output=[])
TABLE = node("LocalRelation")
UNION = node("Union", STREAM, STREAM)
UDF = expression("PythonUDF", name="normalize", evalType=100)
KEY = expression("AttributeReference", name="id", metadata={})
SESSION = expression("AttributeReference", name="session_window", exprId={"id": 7})


def manifest(engine: str, **spec: Any) -> Manifest:
    tree = {
        "apiVersion": "tandem.dev/v1alpha1",
        "kind": "ReplicatedStreamJob",
        "metadata": {"name": "orders"},
        "spec": {
            "job": {"file": "job.py"},
            "kafka": {"bootstrapServers": "localhost:9092"},
            "zookeeper": {"connect": "localhost:2181"},
            "sources": [{"name": "orders", "topics": ["orders"]}],
            "sinks": [{"name": "out", "topic": "out"}],
            "engine": engine,
            **spec,
        },
    }
    return Manifest(parse(tree), Path("job.yaml"), Path())


def chosen(facts: PlanFacts, engine: str = "auto", **spec: Any) -> Choice:
    return choose_engine(lambda: facts, manifest(engine, **spec))


SAME: Mapping[str, PlanFacts] = {
    "projections and filters": PlanFacts(node("Project", node("Filter", STREAM))),
    "several rows of one": PlanFacts(node("Generate", node("Expand", STREAM))),
    "several sinks and dead letters": PlanFacts(node("Union", node("Project", UNION), node("Filter", STREAM))),
    "a join with a table that is sent to the stream": PlanFacts(node("Join", STREAM, TABLE), [""]),
    "whatever a table is made of": PlanFacts(
        node("Join", STREAM, node("Sort", node("Aggregate", node("Project", TABLE, projectList=UDF)))), [""]
    ),
    "duplicates": PlanFacts(node("Deduplicate", node("Filter", STREAM))),
    "duplicates of two streams, each by itself": PlanFacts(
        node("Union", node("Deduplicate", STREAM), node("Deduplicate", STREAM))
    ),
    "a watermark that nothing asks": PlanFacts(node("Project", node("EventTimeWatermark", STREAM))),
}

EVERY_ROW: Mapping[str, PlanFacts] = {
    "the real-time engine reports every row": PlanFacts(
        node("Aggregate", STREAM, groupingExpressions=[KEY]), (), "Update"
    ),
    "groupBy().agg()": PlanFacts(
        node("Aggregate", node("EventTimeWatermark", STREAM), groupingExpressions=[KEY]), (), "Update"
    ),
    "dropDuplicates() behind withWatermark()": PlanFacts(node("Deduplicate", node("EventTimeWatermark", STREAM))),
}

NEVER: Mapping[str, PlanFacts] = {
    "a Python UDF (normalize)": PlanFacts(node("BatchEvalPython", STREAM, udfs=[UDF])),
    "a pandas UDF (normalize)": PlanFacts(
        node("ArrowEvalPython", STREAM, udfs=[expression("PythonUDF", name="normalize", evalType=200)])
    ),
    "an Arrow UDF (normalize)": PlanFacts(
        node("Filter", STREAM, condition=expression("PythonUDF", name="normalize", evalType=250))
    ),
    "a Python function (split)": PlanFacts(
        node("BatchEvalPythonUDTF", STREAM, udtf=expression("PythonUDTF", name="split", evalType=300))
    ),
    "mapInPandas()": PlanFacts(node("MapInPandas", STREAM, functionExpr=UDF)),
    "mapInArrow()": PlanFacts(node("MapInArrow", STREAM)),
    "groupBy().applyInPandas()": PlanFacts(node("FlatMapGroupsInPandas", STREAM)),
    "applyInPandasWithState()": PlanFacts(node("FlatMapGroupsInPandasWithState", STREAM)),
    "transformWithState() in Python": PlanFacts(node("TransformWithStateInPySpark", STREAM)),
    "dropDuplicatesWithinWatermark()": PlanFacts(node("DeduplicateWithinWatermark", STREAM)),
    "limit()": PlanFacts(node("GlobalLimit", node("LocalLimit", STREAM))),
    "orderBy()": PlanFacts(node("Sort", STREAM)),
    "repartition()": PlanFacts(node("RepartitionByExpression", STREAM)),
    "a join of two streams": PlanFacts(node("Join", STREAM, STREAM)),
    "a join with a table that Spark carries out by sorting both sides": PlanFacts(
        node("Join", STREAM, TABLE), ["sorting both sides"]
    ),
    "a join with a table that Spark carries out by an unknown way": PlanFacts(node("Join", STREAM, TABLE)),
    "NOT IN over a table": PlanFacts(node("Join", STREAM, TABLE), [NOT_IN]),
    "session_window()": PlanFacts(
        node("Aggregate", STREAM, groupingExpressions=[KEY, SESSION]), (), "Update", sessions=frozenset({7})
    ),
    "groupBy().agg() in output mode append": PlanFacts(node("Aggregate", STREAM, groupingExpressions=[KEY])),
    "groupBy().agg() over a union of several streams": PlanFacts(node("Aggregate", UNION), (), "Update"),
    "dropDuplicates() over a union of several streams": PlanFacts(node("Deduplicate", node("Filter", UNION))),
    "dropDuplicates() whose rows go into another operator with state": PlanFacts(
        node("Aggregate", node("Project", node("Deduplicate", STREAM))), (), "Update"
    ),
    "monotonically_increasing_id()": PlanFacts(
        node("Project", STREAM, projectList=[expression("MonotonicallyIncreasingID")])
    ),
    "a subquery in an expression": PlanFacts(node("Filter", STREAM, condition=expression("ScalarSubquery"))),
    "Spark's operator Novelty": PlanFacts(node("Novelty", STREAM)),
    "a plan that reads no source": PlanFacts(TABLE),
    "a plan that Spark refuses in output mode update": PlanFacts(node("Project", STREAM), refusal="no"),
}


@pytest.mark.parametrize("name", SAME)
def test_where_both_engines_publish_the_same_rows_auto_is_the_real_time_engine(name: str) -> None:
    assert chosen(SAME[name]).words == "realTime: both engines publish the same rows of this job"
    assert chosen(SAME[name], "realTime") == Choice("realTime")


@pytest.mark.parametrize("what", EVERY_ROW)
def test_where_it_publishes_other_rows_the_real_time_engine_has_to_be_named(what: str) -> None:
    choice = chosen(EVERY_ROW[what])

    assert choice.engine == "microBatch"
    assert what in choice.reason
    assert chosen(EVERY_ROW[what], "realTime") == Choice("realTime")


@pytest.mark.parametrize("what", NEVER)
def test_what_the_real_time_engine_does_not_run_is_refused_by_its_name(what: str) -> None:
    assert chosen(NEVER[what]) == Choice("microBatch", f"the job has {what}")
    with pytest.raises(JobError) as refused:
        chosen(NEVER[what], "realTime")
    said = str(refused.value)
    assert said.startswith(f"spec.engine: realTime cannot run this job. It has {what}: ")
    assert said.endswith("; or set spec.engine: microBatch")


@pytest.mark.parametrize("facts", [*SAME.values(), *EVERY_ROW.values(), *NEVER.values()])
def test_the_micro_batch_engine_runs_everything_and_asks_for_no_plan(facts: PlanFacts) -> None:
    def unasked() -> PlanFacts:
        raise AssertionError("the plan is not looked at")

    assert chosen(facts, "microBatch") == Choice("microBatch")
    assert choose_engine(unasked, manifest("microBatch")).words == "microBatch"


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ({"executors": {"instances": 2}}, "executors"),
        ({"spark": {"parallelism": 4}}, "state in 4 partitions (spec.spark.parallelism)"),
    ],
)
def test_executors_and_several_partitions_are_for_the_micro_batch_engine(spec: dict[str, Any], what: str) -> None:
    assert chosen(PlanFacts(STREAM), "auto", **spec) == Choice("microBatch", f"the job has {what}")


def test_everything_that_is_refused_is_named_once() -> None:
    both: Sequence[Any] = node("Filter", node("Project", node("MapInPandas", STREAM), projectList=UDF), condition=UDF)

    with pytest.raises(JobError) as refused:
        chosen(PlanFacts(both), "realTime")

    assert str(refused.value).count("normalize") == 1
    assert "; mapInPandas(): " in str(refused.value)


def test_what_is_refused_behind_an_aggregation_is_seen() -> None:
    facts = replace(EVERY_ROW["the real-time engine reports every row"], refusal="Spark's words")

    with pytest.raises(JobError, match="in output mode update: Spark's words"):
        chosen(facts, "realTime")


def test_each_join_is_looked_at_by_itself() -> None:
    joined = node("Join", node("Join", STREAM, TABLE), TABLE)

    assert chosen(PlanFacts(joined, ["", ""])).engine == "realTime"
    assert chosen(PlanFacts(joined, ["", "sorting both sides"])).engine == "microBatch"
    assert chosen(PlanFacts(joined, ["sorting both sides", ""])).engine == "microBatch"


def test_a_plan_may_have_as_many_scans_as_tasks_last_at_a_time() -> None:
    most, more = (
        PlanFacts(node("Union", *[node("Project", STREAM)] * count)) for count in (MOST_SCANS, MOST_SCANS + 1)
    )
    assert MOST_SCANS < LASTING_TASKS
    assert chosen(most).engine == "realTime"
    assert chosen(more).words == "microBatch: the job has 49 scans of its sources, more than 48"
    with pytest.raises(JobError, match="It has 49 scans of its sources, more than 48: each"):
        chosen(more, "realTime")


DEAD_LETTERS: Mapping[str, Any] = {"job": {"file": "job.py", "onError": "deadLetter"}}


def test_records_that_fail_leave_a_job_in_real_time_mode_only_if_it_keeps_no_state() -> None:
    stateless, stateful = PlanFacts(node("Filter", STREAM)), PlanFacts(node("Project", node("Deduplicate", STREAM)))
    assert chosen(stateless, "realTime", **DEAD_LETTERS).engine == "realTime"
    assert chosen(stateful, "realTime").engine == "realTime"
    with pytest.raises(JobError, match="onError: deadLetter and an operator with state"):
        chosen(stateful, "realTime", **DEAD_LETTERS)


TABLES: Mapping[str, Any] = {
    "sources": [
        {"name": "orders", "topics": ["orders"]},
        {"name": "rules", "topics": ["rules"], "table": {"key": ["key"]}},
    ]
}


def test_a_table_from_a_topic_runs_in_real_time_mode_where_the_manifest_asks_for_it() -> None:
    joined = PlanFacts(node("Join", STREAM, TABLE), [""])
    assert chosen(joined, "realTime", **TABLES) == Choice("realTime")
    assert chosen(joined, "auto", **TABLES).words.startswith(
        "microBatch: the job has a source that is a table (rules), and"
    )
    with pytest.raises(JobError, match="onError: deadLetter and a source that is a table"):
        chosen(joined, "realTime", **TABLES, **DEAD_LETTERS)
