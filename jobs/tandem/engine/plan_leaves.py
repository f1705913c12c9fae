"""Where a plan's rows come from: only from the log's epochs, from values in the code, from static tables kept."""

from collections.abc import Collection, Iterator
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from tandem.engine.jvm_plans import elements, inlined
from tandem.jobapi.errors import JobError

_CATALYST: Final = "org.apache.spark.sql.catalyst.plans.logical."
_VALUES: Final = frozenset(
    {
        f"{_CATALYST}LocalRelation",
        f"{_CATALYST}OneRowRelation",
        f"{_CATALYST}Range",
        f"{_CATALYST}CTERelationRef",  # of a WITH clause, whose own leaves are among the plan's
    }
)
_RDDS: Final = frozenset(f"org.apache.spark.sql.execution.{name}" for name in ("LogicalRDD", "ExternalRDD"))
_MADE: Final = ("org.apache.spark.rdd.ParallelCollectionRDD", "org.apache.spark.rdd.EmptyRDD", "tandem.")
"""Where the rows of an RDD are from if they are values of the code, or Tandem's."""
_STREAM: Final = "org.apache.spark.sql.execution.streaming.runtime.StreamingExecutionRelation"
_FILES: Final = "org.apache.spark.sql.execution.datasources.LogicalRelation"


def leaves(frame: DataFrame) -> list[Any]:
    """The nodes of an analysed plan that rows come from, those of subqueries too."""
    jvm: Any = frame.sparkSession._jvm
    plan = frame._jdf.queryExecution().analyzed()
    plans = [plan, *_list(jvm, plan.subqueriesAll())]
    return [leaf for one in plans for leaf in _list(jvm, one.collectLeaves())]


def scans_of(spark: SparkSession, plan: Any) -> int:
    """How often an analysed plan reads the log's epochs where Spark counts that: each WITH clause where it is used."""
    jvm: Any = spark._jvm
    return sum(_class(leaf) == _STREAM for leaf in _list(jvm, inlined(spark, plan).collectLeaves()))


def roots_of(leaf: Any) -> Iterator[str]:
    """The paths that a node reads files from; none if it is no table of files."""
    if _class(leaf) == _FILES and _class(leaf.relation()).endswith(".HadoopFsRelation"):
        roots = leaf.relation().location().rootPaths()
        yield from (roots.apply(index).toString() for index in range(roots.size()))


def check_leaves(frame: DataFrame, source: Any, kept: Collection[str]) -> None:
    """Refuse a plan with rows from elsewhere.

    `source` : the stream of the log's epochs, in the JVM.
    `kept` : where static tables are read that cannot change.

    Raises `JobError`: names the kind of rows, and what to do instead.
    """
    for leaf in leaves(frame):
        kind = _class(leaf)
        if kind == _STREAM:
            if not leaf.source().equals(source):
                raise JobError(
                    "the job returned a DataFrame of an earlier call. Its function is called more than once, each time with "
                    "other DataFrames: keep none of them in a global variable or in a cache"
                )
        elif kind == _FILES and (roots := list(roots_of(leaf))):
            if not set(roots) <= set(kept):
                raise _not_kept(f"the files {', '.join(roots)}")
        elif kind in _RDDS:
            _check_rdd(leaf.rdd())
        elif kind not in _VALUES:
            raise _not_kept(_told(leaf, kind))


def _check_rdd(rdd: Any) -> None:
    """Refuse an RDD of anything but values: Spark would read its source in each epoch, and nobody compares that."""
    seen, found = set[int](), [rdd]
    while found:
        one = found.pop()
        if (number := int(one.id())) in seen:
            continue
        seen.add(number)
        before = [dependency.rdd() for dependency in elements(one.dependencies())]
        if not before and not _class(one).startswith(_MADE):
            kind = _class(one).rpartition(".")[2]
            raise JobError(
                f"the job's plan has a DataFrame that was made of the RDD of another one ({kind}). Spark would read it in "
                "each epoch, past Tandem, so replicas could compute with other tables. Use that DataFrame itself, with "
                "select() and cast(); a UDF does what map() does"
            )
        found += before


def _not_kept(what: str) -> JobError:
    return JobError(
        f"the job's plan reads {what} past Tandem. What it holds may change, so replicas would compute with different "
        "tables. Read files with ctx.spark.read (Tandem keeps what they held when the job began); make a stream one of "
        "spec.sources; look up anything else with ctx.determinant(...)"
    )


def _told(leaf: Any, kind: str) -> str:
    name = kind.rpartition(".")[2]
    if kind == _FILES:
        return f"a table by {_class(leaf.relation()).rpartition('.')[2]}"
    return f"a {'stream' if leaf.isStreaming() else 'table'} ({name})"


def _class(node: Any) -> str:
    return str(node.getClass().getName())


def _list(jvm: Any, sequence: Any) -> list[Any]:
    return list(jvm.scala.jdk.javaapi.CollectionConverters.asJava(sequence))
