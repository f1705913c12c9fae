"""What a table of files tells of its files and not of what is in them: of Tandem's copies, others in each process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql import DataFrame

from tandem.engine.jvm_plans import children, class_of, elements, inlined, walked
from tandem.engine.pruned import without_unused
from tandem.jobapi.errors import JobError

_OF_METADATA: Final = ("file_path", "file_modification_time")
_OF_BINARY: Final = ("path", "modificationTime")


def check_file_columns(frame: DataFrame) -> None:
    """Raise `JobError` if a plan reads where a table's files are, or when they were written.

    Tandem reads a copy of them: its place and its time are others than the files', and others in each process.
    """
    if found := sorted(set(_found(frame))):
        raise JobError(
            f"the job's plan reads {' and '.join(found)} of a static table: where a file is, or when it was written. Tandem "
            "keeps a copy of what the table held when the job's generation began, whose place and time are others in each "
            "process. Use _metadata.file_name, or put what you need into the files"
        )


def _found(frame: DataFrame) -> Iterator[str]:
    spark, analysed = frame.sparkSession, frame._jdf.queryExecution().analyzed()
    plan = without_unused(spark, inlined(spark, analysed))
    nodes = [node for one in (plan, *elements(plan.subqueriesAll())) for node in walked(one)]
    tables = [node for node in nodes if class_of(node) == "LogicalRelation"]
    if not tables:
        return
    binary = {
        column.exprId().toString(): str(column.name())
        for table in tables
        if class_of(table.relation()) == "HadoopFsRelation"
        and class_of(table.relation().fileFormat()) == "BinaryFileFormat"
        for column in elements(table.output())
        if column.name() in _OF_BINARY
    }
    above = [node for node in nodes if class_of(node) != "LogicalRelation"]
    for column in (*(one for node in above for one in elements(node.references().toSeq())), *elements(plan.output())):
        if (name := binary.get(column.exprId().toString())) is not None:
            yield name
    if any(column.name() == "_metadata" for table in tables for column in elements(table.output())):
        yield from _of_metadata(plan, above)


def _of_metadata(plan: Any, nodes: list[Any]) -> Iterator[str]:
    """The fields of `_metadata` that are read, and `_metadata` where it goes out whole."""
    for part in (part for node in nodes for one in elements(node.expressions()) for part in walked(one)):
        if class_of(part) == "GetStructField" and _is_metadata(part.child()):
            name = str(part.childSchema().apply(part.ordinal()).name())
            if name in _OF_METADATA:
                yield f"_metadata.{name}"
        elif any(map(_is_metadata, children(part))):
            yield "_metadata"
    if any(_is_metadata(column) for column in elements(plan.output())):
        yield "_metadata"


def _is_metadata(expression: Any) -> bool:
    return class_of(expression) == "AttributeReference" and str(expression.name()) == "_metadata"
