"""Refusing plans whose result is not determined by their input: replicas would diverge."""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, Final

from pyspark.sql import DataFrame

from tandem.engine.facts import typed_in_sql, without_identity
from tandem.engine.jvm_plans import children, class_of, expressions_of, nodes_of, walked
from tandem.engine.own_chance import undetermined_of_themselves
from tandem.engine.plan_tree import Node, tree
from tandem.jobapi.errors import JobError

_TIME = "use ctx.epoch_time(), which every replica reads from the log, or the record's own time"
_RANDOM = "use ctx.rng(): a streaming query gives each batch another seed, also where the job gives one"
_UNIQUE = "metadata.epoch and metadata.seq together are unique, or derive it from the record, as with F.xxhash64(...)"

_UNDETERMINED = {
    "CurrentTimestamp": ("current_timestamp()", _TIME),
    "CurrentBatchTimestamp": ("current_timestamp()", _TIME),
    "CurrentTimestampNanos": ("current_timestamp()", _TIME),
    "CurrentTimestampPrecision": ("current_timestamp()", _TIME),
    "Now": ("now()", _TIME),
    "LocalTimestamp": ("localtimestamp()", _TIME),
    "LocalTimestampNanos": ("localtimestamp()", _TIME),
    "CurrentDate": ("current_date()", _TIME),
    "CurDateExpressionBuilder": ("curdate()", _TIME),
    "CurrentTime": ("current_time()", _TIME),
    "UnixTimestampNow": ("unix_timestamp()", _TIME),
    "Uuid": ("uuid()", _UNIQUE),
    # Spark's IncrementalExecution calls withNewSeed on these.
    "Rand": ("rand()", _RANDOM),
    "Randn": ("randn()", _RANDOM),
    "RandStr": ("randstr()", _RANDOM),
    "Uniform": ("uniform()", _RANDOM),
    "Shuffle": ("shuffle()", "sort the array instead"),
    "CurrentUser": ("current_user()", "it is the account that a replica runs under; take a name from ctx.options"),
    "NearestByJoin": (
        "nearestByJoin()",
        "a join and row_number() over a window, ordered by the distance and a unique column",
    ),
    "InputFileName": ("input_file_name()", "there are no input files"),
}


_SKETCH: Final = re.compile(r"KllSketch(Agg|Merge)|KllMergeAgg")
_MODES: Final = ("Mode", "PandasMode")
_BINARY: Final = re.compile(r'^"binary"$|"(?:type|elementType|keyType|valueType)":"binary"')
"""In the JSON of a type: it is, or holds, BINARY."""
_MAP: Final = re.compile(r'"type":"map"')
_TEXT: Final = "count texts, as in F.mode(F.hex(...)) or F.mode(F.col(...).cast('string'))"
_ENCRYPTION = "give aes_encrypt() an initialization vector that follows from the record, or the mode ECB"
_DAYS: Final = "now|today|tomorrow|yesterday"
_DAY: Final = re.compile(rf"\s*({_DAYS})(\s+\S+)?\s*", re.IGNORECASE)
"""Texts that Spark reads as a moment, with a time zone or without."""
_TYPED_DAY: Final = re.compile(rf"(date|timestamp\w*)\s*['\"]\s*({_DAYS})\b", re.IGNORECASE)
_TO_TIME: Final = ("Cast", "ParseToDate", "ParseToTimestamp")
_TIME_OF_DAY: Final = re.compile(r'"time\(|\.(To|Make)Time"')
"""In a plan's JSON: something is of the type TIME."""
_DAY_REMEDY: Final = "put it behind the record's day, as in make_timestamp_ntz(CAST(at AS DATE), t)"
_TIMES: Final = ("date", "timestamp", "timestamp_ntz")
_OUTSIDE: Final = frozenset(
    {"random", "randomUUID", "now", "nanoTime", "currentTimeMillis", "getenv", "getProperty", "getLocalHost"}
)
"""Names of Java's methods that tell of chance, the clock or the host."""


def check_determined(frame: DataFrame) -> None:
    """Raise `JobError` naming every undetermined expression of a streaming plan, and what to use instead."""
    plan = frame._jdf.queryExecution().analyzed()
    nodes = nodes_of(plan)
    found = dict(undetermined(nodes))
    names = {_name(node) for node in _all(nodes)}
    if not names.isdisjoint(_MODES):
        found |= dict(_modes_of_bytes(plan))
    if "Cast" in names and _TIME_OF_DAY.search(str(plan.toJSON())):
        found |= dict(_times_of_today(plan))
    if not found:  # else those have a remedy of their own
        found = dict(undetermined_of_themselves(plan))
    if _has_constant_times(nodes):
        found |= {text: _TIME for text in typed_in_sql(frame) if _TYPED_DAY.match(text)}
    if found:
        what = "; ".join(f"{name}: {remedy}" for name, remedy in found.items())
        raise JobError(f"the job's plan is not determined by its input, so its replicas would differ. Replace {what}")


def check_watermarks(frame: DataFrame) -> None:
    """Raise `JobError` if a stream that has a watermark gets another one.

    Spark fails as soon as the first one has a value; over windows the second one never has one, so no window ever comes out.
    """
    plan = tree(iter(nodes_of(frame._jdf.queryExecution().analyzed())))
    settings = frame.sparkSession.conf
    if settings.get("spark.sql.streaming.statefulOperator.allowMultiple", "true") == "true" and _twice(plan, 0):
        raise JobError(
            "the job's plan has withWatermark over a stream that has a watermark already, also by way of a join, a union or "
            "windows. Spark fails as soon as the first one has a value, or waits for ever for the second. Give each source "
            "one watermark, before all else; windows pass theirs on"
        )


def _twice(node: Node, above: int) -> bool:
    above += node.name == "EventTimeWatermark"
    return above > 1 or any(_twice(child, above) for child in node.children)


def check_repeatable(first: DataFrame, second: DataFrame) -> None:
    """Raise `JobError` if building the job twice gave plans with other constants: it drew them from a clock or at random.

    That is how `DataFrame.sample` without a seed, `datetime.now()` and `uuid4()` get into a plan.
    """
    for one, other in zip_longest(_constants(first), _constants(second)):
        if one != other:
            where, value = one or other or ("", "")
            raise JobError(
                f"the job's plan has another constant each time it is built, so its replicas would differ: {where} {value}. "
                "Use ctx.rng(), or give sample() a seed, as in sample(fraction=0.5, seed=1), since Spark ignores the one of "
                "sample(0.5, seed=1); take times from ctx.epoch_time() and the "
                "records, identifiers from the records or ctx.options"
            )


def _constants(frame: DataFrame) -> list[tuple[str, str]]:
    return list(_literals(nodes_of(frame._jdf.queryExecution().analyzed())))


def _literals(nodes: Any, parent: str = "") -> Iterator[tuple[str, str]]:
    """Every literal and seed of a plan, with the expression it belongs to, in the plan's order."""
    if isinstance(nodes, list):
        for node in nodes:
            name = str(node.get("class", "")).rpartition(".")[2] if isinstance(node, dict) else ""
            yield from _literals(node, parent)
            parent = name if name not in ("", "Literal") else parent
    elif isinstance(nodes, dict):
        name = str(nodes.get("class", "")).rpartition(".")[2]
        if name == "Literal":
            yield parent, without_identity(nodes.get("value"))
        if "seed" in nodes:
            yield name, str(nodes["seed"])
        for value in nodes.values():
            yield from _literals(value, parent)


def undetermined(nodes: Any) -> Iterator[tuple[str, str]]:
    """(expression, what to use instead) of a plan's JSON: lists of nodes, whose fields hold expressions as such lists again.

    An expression's children follow it in its list.
    """
    if isinstance(nodes, list):
        for index, node in enumerate(nodes):
            yield from undetermined(node)
            yield from _with_constants(node, nodes[index + 1 : index + 3])
            if isinstance(node, dict) and _name(node) == "AesEncrypt":
                yield from _encryption(tree(iter(nodes[index:])))
    elif isinstance(nodes, dict):
        yield from _finding(nodes)
        for value in nodes.values():
            yield from undetermined(value)


def _with_constants(node: Any, following: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """What is undetermined for its first constants: texts that stand for a moment, methods of Java."""
    if not isinstance(node, dict) or not all(isinstance(one, dict) for one in following):
        return
    name, texts = _name(node), [str(one.get("value")) for one in following if _name(one) == "Literal"]
    is_time = name != "Cast" or node.get("dataType") in _TIMES
    if name in _TO_TIME and is_time and _name(following[0]) == "Literal" and _DAY.fullmatch(texts[0]):
        yield f"the time '{texts[0].strip()}'", _TIME
    if name in ("CallMethodViaReflection", "TryReflect") and not _OUTSIDE.isdisjoint(texts[1:]):
        yield f"{'.'.join(texts)}()", f"for times {_TIME}; for chance ctx.rng(); for all else ctx.determinant(...)"


def _modes_of_bytes(plan: Any) -> Iterator[tuple[str, str]]:
    """Spark counts equal bytes, and maps, apart where they are different objects, so the most frequent are any of them."""
    for expression in (part for one in expressions_of(plan) for part in walked(one)):
        if class_of(expression) not in _MODES:
            continue
        kind = str(children(expression)[0].dataType().json())
        if holds_bytes(kind):
            yield "mode() of BINARY", _TEXT
        elif _MAP.search(kind):
            yield "mode() of a MAP", "count texts, as in F.mode(F.to_json(...)) of maps whose keys are sorted"


def _times_of_today(plan: Any) -> Iterator[tuple[str, str]]:
    """Spark gives a time of day the clock's day where it is to be a timestamp."""
    for expression in (part for one in expressions_of(plan) for part in walked(one)):
        if class_of(expression) != "Cast" or str(expression.dataType().typeName()) not in _TIMES:
            continue
        if str(children(expression)[0].dataType().typeName()).startswith("time("):
            yield "a TIME that is cast to a timestamp, which takes the clock's day", _DAY_REMEDY


def holds_bytes(kind: str) -> bool:
    """Whether a type, as Spark's JSON, is BINARY or holds it."""
    return _BINARY.search(kind) is not None


def _all(nodes: Any) -> Iterator[dict[str, Any]]:
    """Every node and expression of a plan's JSON."""
    if isinstance(nodes, dict):
        yield nodes
        nodes = list(nodes.values())
    if isinstance(nodes, list):
        for node in nodes:
            yield from _all(node)


def _encryption(encrypt: Node) -> Iterator[tuple[str, str]]:
    """Spark draws the vector where none is given, and ends up with other bytes for the same text each time."""
    _, _, mode, _, vector, *_ = [_constant(child) for child in encrypt.children]
    if vector == "" and str(mode).upper() != "ECB":
        yield "aes_encrypt() without an initialization vector", _ENCRYPTION


def _constant(expression: Node) -> str | None:
    """The text of a constant, also of one that is cast; None: it is none."""
    while expression.name == "Cast":
        expression = expression.children[0]
    return str(expression.fields.get("value") or "") if expression.name == "Literal" else None


def _has_constant_times(nodes: Any) -> bool:
    if isinstance(nodes, list):
        return any(_has_constant_times(node) for node in nodes)
    is_time = isinstance(nodes, dict) and _name(nodes) == "Literal" and nodes.get("dataType") in _TIMES
    return is_time or (isinstance(nodes, dict) and any(_has_constant_times(value) for value in nodes.values()))


def _name(node: dict[str, Any]) -> str:
    return str(node.get("class", "")).rpartition(".")[2]


def _finding(node: dict[str, Any]) -> Iterator[tuple[str, str]]:
    name = _name(node)
    if name in _UNDETERMINED:
        yield _UNDETERMINED[name]
    elif _SKETCH.match(name):
        yield "a sketch of KLL, which drops values at random", "approx_percentile() gives the same in every replica"
    elif name in ("PythonUDF", "PythonUDAF", "ScalaUDF") and node.get("udfDeterministic") in (False, "false"):
        yield (
            f"the non-deterministic UDF {node.get('name')}",
            "compute it from its arguments alone; ask services with ctx.ask(...)",
        )
