"""Long answers are cut into parts that fit into records, and the log puts them together again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tandem.protocol.codec import encode_proposal
from tandem.protocol.determinants import MOST_BYTES, in_parts, size_of
from unit.protocol.builders import decided

texts = st.none() | st.text(max_size=12)


@given(st.lists(texts, max_size=20), st.integers(1, 60))
def test_the_log_puts_an_answer_together_again(answers: list[str | None], most_bytes: int) -> None:
    log = decided(epochs=1)
    for part in in_parts(0, "score", answers, "a", most_bytes):
        log.apply(part)
    assert log.answer(0, "score") == tuple(answers)


@given(st.lists(texts, max_size=20), st.integers(1, 60))
def test_no_part_is_larger_than_allowed_unless_one_answer_is(answers: list[str | None], most_bytes: int) -> None:
    for part in in_parts(0, "score", answers, "a", most_bytes):
        assert len(part.answers) <= 1 or sum(map(size_of, part.answers)) <= most_bytes


def test_no_answer_at_all_is_one_part() -> None:
    (only,) = in_parts(3, "score", [], "a")
    assert (only.part, only.parts, only.answers) == (0, 1, ())


def test_a_million_characters_of_any_script_fit_into_records_of_a_megabyte() -> None:
    parts = in_parts(0, "score", ["ж" * 1_000] * 500 + ["x" * 1_000] * 500, "a" * 100)
    assert len(parts) > 1
    assert all(len(encode_proposal(part)) <= MOST_BYTES + 1_000 for part in parts)
