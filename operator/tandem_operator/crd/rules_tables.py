"""Rules about sources that are tables."""

from __future__ import annotations

from typing import Final

from tandem_operator.crd.cel import Rule, path

_SOURCE: Final = (path("spec.sources[]"),)

TABLES: Final[tuple[Rule, ...]] = (
    Rule(
        "table-joins-a-stream",
        (path("spec.sources"),),
        "self.exists(source, !has(source.table))",
        "all sources are tables, so no records would flow. Remove table from a source, which is a stream then",
        mirrors=("a_table_joins_a_stream",),
    ),
    Rule(
        "table-is-read-from-its-beginning",
        _SOURCE,
        "!has(self.table) || self.startingOffsets == 'earliest'",
        "a table that begins at latest lacks the rows that are there already. Remove startingOffsets, or remove table",
        field_path=".startingOffsets",
        mirrors=("a_table_is_read_from_its_beginning",),
    ),
    Rule(
        "table-holds-back-nothing",
        _SOURCE,
        "!has(self.table) || !has(self.idleTimeout)",
        "a table holds back no watermark. Remove idleTimeout",
        field_path=".idleTimeout",
        reason="FieldValueForbidden",
        mirrors=("a_table_is_read_from_its_beginning",),
    ),
    Rule(
        "table-has-no-headers",
        _SOURCE,
        "!has(self.table) || !self.includeHeaders",
        "a table has no headers. Remove includeHeaders, or remove table",
        field_path=".includeHeaders",
        mirrors=("a_table_is_read_from_its_beginning",),
    ),
    Rule(
        "raw-table-has-its-key",
        _SOURCE,
        "!has(self.table) || self.format != 'raw' || self.table.key.all(name, name == 'key' || name == 'value')",
        "a table of format raw (the default) has the columns key and value. Name one of these in table.key",
        field_path=".table",
        mirrors=("a_table_has_its_key",),
    ),
)
