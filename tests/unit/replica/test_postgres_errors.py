"""An error of PostgreSQL is one row's, which becomes a dead letter, or trouble that may pass: then no row is to blame."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tandem.replica.postgres_writer import is_of_a_row

IN_A_TRIGGER = "PL/pgSQL function quota() line 1 at RAISE"
POLICY = "new row violates row-level security policy for table"


@pytest.mark.parametrize(
    ("state", "words", "source", "context", "wanted"),
    [
        ("23505", "duplicate key value", "_bt_check_unique", None, True),
        ("22003", "out of range", "int84", None, True),
        ("P0001", "quota", "exec_stmt_raise", IN_A_TRIGGER, True),
        ("45000", "quota", "exec_stmt_raise", IN_A_TRIGGER, True),
        ("MY001", "quota", "exec_stmt_raise", IN_A_TRIGGER, True),
        ("20000", "case not found", "exec_stmt_case", IN_A_TRIGGER, True),
        ("2F005", "control reached end of function without RETURN", "plpgsql_exec_trigger", IN_A_TRIGGER, True),
        ("38000", "KeyError: 'EUR'", "PLy_elog_impl", "PL/Python function rates", True),
        ("54001", "stack depth limit exceeded", "check_stack_depth", None, True),
        ("42501", POLICY, "ExecWithCheckOptions", None, True),
        ("42501", POLICY, None, None, True),
        ("42501", "neue Zeile verletzt Policy", "ExecWithCheckOptions", None, True),
        ("42501", "permission denied for table t", "aclcheck_error", None, False),
        ("42501", "query would be affected by row-level security policy", "check_enable_rls", None, False),
        ("40001", "could not serialize", "exec_stmt_raise", IN_A_TRIGGER, False),
        ("53100", "could not extend file", "mdextend", IN_A_TRIGGER, False),
        ("57014", "canceling statement", "ProcessInterrupts", IN_A_TRIGGER, False),
        ("XX000", "server closed the connection", None, None, False),
        ("ZZ123", "a pooler's own trouble", None, None, False),
        ("", "the connection is lost", None, None, False),
    ],
)
def test_who_is_to_blame(state: str, words: str, source: str | None, context: str | None, wanted: bool) -> None:
    diagnosis = SimpleNamespace(message_primary=words, source_function=source, context=context)

    assert is_of_a_row(state, diagnosis) is wanted
