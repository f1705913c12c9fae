"""What a process logs as the reason of its end."""

from __future__ import annotations

import pytest

from tandem.process.ending import reason_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[CODE] It cannot be.\nSQLSTATE: 42\n=== Streaming Query ===\nIdentifier: [id = 1]\n\nLogical Plan:\n…",
            "[CODE] It cannot be.\nSQLSTATE: 42",
        ),
        ("no answer within 5 s", "no answer within 5 s"),
    ],
)
def test_a_reason_is_without_sparks_account_of_the_query(text: str, expected: str) -> None:
    assert reason_of(RuntimeError(text)) == expected
