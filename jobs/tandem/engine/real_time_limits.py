"""What of a job's plan the real-time engine does not run, or publishes other rows of than the micro-batch engine. Pure.

The plan is the one that Spark has optimised. Spark's own list of what its real-time mode runs is
`org.apache.spark.sql.execution.streaming.runtime.RealTimeModeAllowlist`: what is on neither list here is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tandem.engine.plan_tree import Node, expression_id, expressions, tree

_SCANS: Final = frozenset({"StreamingExecutionRelation", "StreamingRelationV2", "StreamingDataSourceV2Relation"})
MOST_SCANS: Final = 48
"""Of a plan: each keeps a task busy as long as the query runs, and only so many run at a time (`LASTING_TASKS`)."""
_RUN: Final = frozenset(
    {"CollectMetrics", "EventTimeWatermark", "Expand", "Filter", "Generate", "Project", "ResolvedHint", "SubqueryAlias"}
    | {"Union", "View"}
)
"""Operators on rows: one row goes through them after the other, as many as come of it."""
_STATES: Final = frozenset({"Aggregate", "Deduplicate", "Distinct"})

NOT_IN: Final = "NOT IN"
"""A way to join: as "", but Spark reads nothing of the stream if the table has a NULL, and nobody passes the epochs."""

_AHEAD = "Spark hands rows to Python in batches, so rows of an epoch would come out with a later one"
_FUNCTIONS = "Write it with pyspark.sql.functions or SQL"
_AT_THE_END = "it needs all rows of an epoch before it gives one"
_MICRO_BATCH_ONLY = "Spark's real-time mode does not run it"
_EACH_ROW = "Count or aggregate by key in outputMode update instead"

_NAMES: Final = {
    "MapInPandas": ("mapInPandas()", _AHEAD, _FUNCTIONS),
    "PythonMapInArrow": ("mapInArrow()", _AHEAD, _FUNCTIONS),
    "MapInArrow": ("mapInArrow()", _AHEAD, _FUNCTIONS),
    "FlatMapGroupsInPandas": ("groupBy().applyInPandas()", _AHEAD, _FUNCTIONS),
    "FlatMapGroupsInArrow": ("groupBy().applyInArrow()", _AHEAD, _FUNCTIONS),
    "FlatMapCoGroupsInPandas": ("cogroup().applyInPandas()", _AHEAD, _FUNCTIONS),
    "FlatMapCoGroupsInArrow": ("cogroup().applyInArrow()", _AHEAD, _FUNCTIONS),
    "FlatMapGroupsInPandasWithState": ("applyInPandasWithState()", _AHEAD, _EACH_ROW),
    "TransformWithStateInPySpark": ("transformWithState() in Python", _AHEAD, _EACH_ROW),
    "TransformWithStateInPandas": ("transformWithStateInPandas()", _AHEAD, _EACH_ROW),
    "TransformWithState": ("transformWithState()", _MICRO_BATCH_ONLY, _EACH_ROW),
    "FlatMapGroupsWithState": ("flatMapGroupsWithState()", _MICRO_BATCH_ONLY, _EACH_ROW),
    "DeduplicateWithinWatermark": (
        "dropDuplicatesWithinWatermark()",
        _MICRO_BATCH_ONLY,
        "Use dropDuplicates(), whose state keeps every key",
    ),
    "GlobalLimit": ("limit()", _MICRO_BATCH_ONLY, "Leave it out"),
    "LocalLimit": ("limit()", _MICRO_BATCH_ONLY, "Leave it out"),
    "Offset": ("offset()", _MICRO_BATCH_ONLY, "Leave it out"),
    "Tail": ("tail()", _MICRO_BATCH_ONLY, "Leave it out"),
    "Sort": ("orderBy()", _AT_THE_END, "Leave it out: rows come in the order of their records"),
    "Window": ("a window function over()", _AT_THE_END, _EACH_ROW),
    "Repartition": ("repartition() or coalesce()", "a job's rows are in one partition", "Leave it out"),
    "RepartitionByExpression": ("repartition()", "a job's rows are in one partition", "Leave it out"),
    "RebalancePartitions": ("the hint REBALANCE", "a job's rows are in one partition", "Leave it out"),
}
"""Operators that are not run: the name that a user knows, why, and what to do."""
_IN_PYTHON: Final = frozenset({"ArrowEvalPython", "BatchEvalPython", "BatchEvalPythonUDTF", "ArrowEvalPythonUDTF"})
"""What Spark puts around Python functions; the functions are named themselves."""
_KINDS: Final = (
    (range(100, 200), "a Python UDF"),
    (range(200, 250), "a pandas UDF"),
    (range(250, 300), "an Arrow UDF"),
)
"""Of Spark's `PythonEvalType`."""
_SUBQUERIES: Final = frozenset({"Exists", "InSubquery", "LateralSubquery", "ListQuery", "ScalarSubquery"})


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """A plan as far as it matters for which engine runs it.

    Parameters
    ----------
    nodes : the optimised plan, as Spark's `toJSON` gives it.
    joins : how Spark would carry out each join of the stream with a table, in the plan's order from the sink on; "": by
        sending the table to where the stream's rows are; `NOT_IN`: so, and a NULL in it matches every row.
    mode : Spark's output mode of the job: Append or Update.
    refusal : why Spark refuses the plan in mode Update, which is that of its real-time mode; "": it does not.
    sessions : the ids of columns that are made by `session_window()`.
    """

    nodes: Sequence[Mapping[str, Any]]
    joins: Sequence[str] = ()
    mode: str = "Append"
    refusal: str = ""
    sessions: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Limit:
    """Something that the real-time engine does not run; if it `runs`, it publishes other rows of it.

    `what` : a noun that a PySpark user knows; `why`; `remedy`: a sentence without its full stop.
    """

    what: str
    why: str
    remedy: str
    runs: bool = False

    @property
    def words(self) -> str:
        """The whole in words."""
        return f"{self.what}: {self.why}. {self.remedy}"


_NOT_IN: Final = Limit(
    "NOT IN over a table",
    "Spark stops reading the stream where the table has a NULL, and no epoch would end",
    "Use NOT EXISTS or a join of kind left_anti, to which a NULL equals nothing",
)
_SESSIONS: Final = Limit("session_window()", _MICRO_BATCH_ONLY, "Use window()")
_LAST_ROWS: Final = Limit(
    "groupBy().agg() in output mode append",
    "a group's last row comes when the watermark passes it",
    "Set spec.job.outputMode: update, and each row that changes a group is reported",
)
_EVERY_ROW: Final = Limit(
    "groupBy().agg()",
    "the real-time engine reports every row, the micro-batch engine each changed group once an epoch",
    "",
    runs=True,
)
_LATE_ROWS: Final = Limit(
    "dropDuplicates() behind withWatermark()",
    "other rows are late with the real-time engine, whose watermark moves at barriers, not behind each epoch",
    "",
    runs=True,
)


def limits(facts: PlanFacts) -> list[Limit]:
    """What of a plan speaks against the real-time engine, in the plan's order from the sink on, each thing once.

    None: both engines publish the same rows. Only such that `runs`: the engine runs the job, and reports each row.
    """
    root = tree(iter(facts.nodes))
    found = list(_Walk(facts).limits(root))
    if (count := _scans(root)) > MOST_SCANS:
        found.append(_too_many(count))
    if not count:
        found.append(
            Limit("a plan that reads no source", "there are no epochs for it", "Return what is made of a source")
        )
    if facts.refusal and all(limit.runs for limit in found):
        found.append(Limit("a plan that Spark refuses in output mode update", facts.refusal, "Change the plan"))
    return list(dict.fromkeys(found))


def _too_many(scans: int) -> Limit:
    return Limit(
        f"{scans} scans of its sources, more than {MOST_SCANS}",
        "each keeps a task busy as long as the job runs, and the others would wait for ever; a sink scans each source that "
        "it is made of, and dead letters scan each source once more",
        "Make fewer sinks of it, or one source of several topics, or divide the job into several",
    )


def keeps_state(facts: PlanFacts) -> bool:
    """Whether an operator over the stream keeps state."""

    def below(node: Node) -> bool:
        return bool(_scans(node)) and (node.name in _STATES or any(map(below, node.children)))

    return below(tree(iter(facts.nodes)))


@dataclass
class _Walk:
    facts: PlanFacts
    joins: Iterator[str] = field(init=False)

    def __post_init__(self) -> None:
        self.joins = iter(self.facts.joins)

    def limits(self, node: Node, behind_state: bool = False) -> Iterator[Limit]:
        """Of a node and those below it; `behind_state`: its rows go into one that keeps state."""
        if not _scans(node) or node.name in _SCANS:
            return
        if node.name not in _NAMES:  # the function of such an operator is no UDF that the user wrote
            yield from _of_expressions(node.fields)
        if node.name == "Join":
            yield from self._of_join(node)
        elif node.name in _STATES:
            yield from self._of_state(node, behind_state)
        elif node.name in _NAMES:
            yield Limit(*_NAMES[node.name])
        elif node.name not in _RUN | _IN_PYTHON:
            yield Limit(f"Spark's operator {node.name}", "it is not known to work there", "Write it otherwise")
        for child in node.children:
            yield from self.limits(child, behind_state or node.name in _STATES)

    def _of_join(self, node: Node) -> Iterator[Limit]:
        if all(map(_scans, node.children)):
            remedy = "Join with a table, or put both into one stream by unionByName()"
            yield Limit("a join of two streams", _MICRO_BATCH_ONLY, remedy)
        elif (other := next(self.joins, "an unknown way")) == NOT_IN:
            yield _NOT_IN
        elif other:
            yield Limit(
                f"a join with a table that Spark carries out by {other}",
                "it would need all rows of an epoch at once",
                "Join by equal columns, and send the table to the stream: F.broadcast(table)",
            )

    def _of_state(self, node: Node, behind_state: bool) -> Iterator[Limit]:
        is_duplicates = node.name == "Deduplicate"
        what = "dropDuplicates()" if is_duplicates else "groupBy().agg()"
        if behind_state:
            yield Limit(
                f"{what} whose rows go into another operator with state",
                "Spark runs one of them in output mode update",
                "Keep one of them, or divide the job into two",
            )
        if _scans(node) > 1:
            yield Limit(
                f"{what} over a union of several streams",
                "the order of rows of several scans is not that of their epochs",
                "Make them one source with several topics, or keep state for each stream by itself",
            )
        if not is_duplicates:
            yield self._of_aggregation(node)
        elif _has(node, "EventTimeWatermark"):
            yield _LATE_ROWS

    def _of_aggregation(self, node: Node) -> Limit:
        """Why the rows of a group are others, or are none."""
        if self.facts.sessions & {*map(expression_id, _grouping(node))}:
            return _SESSIONS
        return _LAST_ROWS if self.facts.mode == "Append" else _EVERY_ROW


def _scans(node: Node) -> int:
    """How many times the stream is read at and below a node."""
    return (node.name in _SCANS) + sum(map(_scans, node.children))


def _has(node: Node, name: str) -> bool:
    return node.name == name or any(_has(child, name) for child in node.children)


def _grouping(node: Node) -> list[Node]:
    return expressions(node.fields.get("groupingExpressions"))


def _of_expressions(written: object) -> Iterator[Limit]:
    """Of a node's expressions, at any depth."""
    if isinstance(written, list):
        for one in written:
            yield from _of_expressions(one)
    elif isinstance(written, Mapping):
        name = str(written.get("class", "")).rpartition(".")[2]
        if name.startswith("Python"):
            yield Limit(f"{_kind(written)} ({written.get('name')})", _AHEAD, _FUNCTIONS)
        elif name in _SUBQUERIES:
            yield Limit("a subquery in an expression", "it is not known to work there", "Join with the table instead")
        elif name == "MonotonicallyIncreasingID":
            yield Limit(
                "monotonically_increasing_id()",
                "it counts rows from where a query starts",
                "metadata.epoch and metadata.seq together are unique",
            )
        for value in written.values():
            yield from _of_expressions(value)


def _kind(function: Mapping[str, Any]) -> str:
    number = int(function.get("evalType", 0))
    return next((words for numbers, words in _KINDS if number in numbers), "a Python function")
