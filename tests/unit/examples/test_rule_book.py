"""Rules come, change and go, and their totals with them; nothing that a record says stops the others."""

from __future__ import annotations

import pytest

from tandem.examples.rules.book import REJECTED, RESULTS, Control, Place, Row
from tandem.examples.rules.totals import Total, Totals
from unit.examples.rule_records import Epochs, event, removed, rule, totals, values_of


def test_a_rule_holds_for_every_event_of_the_epoch_that_brings_it_and_not_before() -> None:
    epochs = Epochs()
    assert epochs.run(event()) == []
    assert values_of(epochs.run(event(), rule(), event())) == [
        {"rule": "r", "customer": "c", "since": 1, "events": 2, "count": 2}
    ]
    assert totals(epochs.run(event())) == {"r/c": 3}


def test_a_rule_is_for_the_events_of_its_scope_and_counts_for_each_customer() -> None:
    epochs = Epochs()
    rows = epochs.run(rule(id="all"), rule(id="own", scope={"customer": "a"}), event("a"), event("b"), event("a"))
    assert totals(rows) == {"all/a": 2, "all/b": 1, "own/a": 2}


@pytest.mark.parametrize(("aggregation", "expected"), [("sum", 6), ("min", 1), ("max", 3)])
def test_amounts_are_aggregated(aggregation: str, expected: int) -> None:
    epochs = Epochs()
    sizes = [event(size=size) for size in (2, 1, 3)]
    rows = epochs.run(rule(aggregation=aggregation, value="event.size"), *sizes)
    assert values_of(rows) == [{"rule": "r", "customer": "c", "since": 0, "events": 3, aggregation: expected}]


def test_a_removed_rule_loses_its_totals_and_says_so_to_readers() -> None:
    epochs = Epochs()
    epochs.run(rule(), rule(id="other"), event(), event("d"))
    rows = epochs.run(removed(), event())
    assert [row for row in rows if row.value is None] == [Row(RESULTS, "r/c", None), Row(RESULTS, "r/d", None)]
    assert totals(rows) == {"other/c": 2}
    assert {of.rule for of in epochs.totals.content} == {"other"} == set(epochs.rules.content)
    assert epochs.run(removed("never-there")) == []


@pytest.mark.parametrize(
    "between", [[removed()], [removed(), rule(when="event.open"), removed()], [rule(when="false")]]
)
def test_a_rule_that_comes_again_begins_from_nothing_even_in_the_epoch_in_which_it_went(between: list[Control]) -> None:
    epochs = Epochs()
    epochs.run(rule(), event())
    rows = epochs.run(event(), *between, rule())
    assert [row.value for row in rows][:1] == [None]
    assert values_of(rows[1:]) == [{"rule": "r", "customer": "c", "since": 1, "events": 1, "count": 1}]


def test_a_changed_rule_begins_from_nothing_and_one_that_is_sent_again_goes_on() -> None:
    epochs = Epochs()
    epochs.run(rule(), event())
    assert totals(epochs.run(rule(), event())) == {"r/c": 2}
    assert totals(epochs.run(rule(when="event.size == null"), event())) == {"r/c": 1}
    assert totals(epochs.run(rule(when="event.size == null", scope={"customer": "d"}), event())) == {}


def test_a_bad_rule_is_rejected_with_its_place_and_what_holds_goes_on() -> None:
    epochs = Epochs()
    epochs.run(rule(), event())
    bad = [
        Control(b"r", b"no JSON", Place("control", "rules", 1, 5, 1_000)),
        rule(when="event.audiense == 'x'"),
        Control(b"other", rule(id="r2").value, Place("control", "rules", 0, 6, 0)),
        Control(None, rule().value, Place("control", "rules", 0, 7, 0)),
        Control(b"\xff", rule().value, Place("control", "rules", 0, 8, 10**18)),
    ]
    rows = epochs.run(*bad, event())
    first, *others = values_of(row for row in rows if row.sink == REJECTED)
    assert first.pop("reason").startswith("Invalid JSON")
    assert first == {
        "source": "control",
        "topic": "rules",
        "partition": 1,
        "offset": 5,
        "timestamp": "1970-01-01T00:00:01.000Z",
        "value": "no JSON",
    }
    assert "audiense" in others[0]["reason"]
    assert others[1]["reason"] == "the record's key is not the rule's id, r2"
    assert others[2]["reason"] == "the record has no key: it is the rule's id"
    assert others[3]["reason"] == "the record's key is no UTF-8"
    assert others[3]["timestamp"] == 10**18
    assert totals(rows) == {"r/c": 2}, "the rule that held still holds, with its total"


def test_a_long_record_is_cut_in_its_letter() -> None:
    (row,) = Epochs().run(Control(b"r", b"x" * 1_000_000, Place("control", "rules", 0, 0, 0)))
    (letter,) = values_of([row])
    assert letter["truncated"] is True
    assert len(letter["value"]) == 2_000


def test_there_are_so_many_rules_and_no_more() -> None:
    epochs = Epochs(most_rules=2)
    rows = epochs.run(
        rule(id="a"), rule(id="b"), rule(id="c"), rule(id="a", when="event.open"), removed("b"), rule(id="d")
    )
    (letter,) = values_of(rows)
    assert "2 rules hold already" in letter["reason"]
    assert set(epochs.rules.content) == {"a", "d"}


def test_an_event_without_an_answer_is_rejected_for_that_rule_only() -> None:
    epochs = Epochs()
    rows = epochs.run(
        rule(id="bad", when="1 / event.size == 1"), rule(id="good"), event(size=0, offset=4), event(size=1)
    )
    (letter,) = values_of(row for row in rows if row.sink == REJECTED)
    assert (letter["rule"], letter["reason"], letter["offset"]) == ("bad", "divide by zero", 4)
    assert letter["value"] == '{"customer":"c","time":0,"size":0}'
    assert totals(rows) == {"bad/c": 1, "good/c": 2}


def test_an_event_without_a_customer_is_rejected_once() -> None:
    rows = Epochs().run(rule(id="a"), rule(id="b"), event(None))
    assert [letter["reason"] for letter in values_of(rows)] == ["it has no customer"]


def test_a_sum_that_grows_beyond_all_numbers_stays_as_it_is() -> None:
    epochs = Epochs()
    rows = epochs.run(rule(aggregation="sum", value="event.share"), event(share=1.7e308), event(share=1.7e308))
    assert [letter["reason"] for letter in values_of(row for row in rows if row.sink == REJECTED)] == [
        "the sum would be inf"
    ]
    assert totals(rows) == {"r/c": 1.7e308}


def test_windows_are_of_event_time_and_close_when_time_has_gone_on() -> None:
    epochs = Epochs(lateness_s=5)
    windowed = rule(windowSeconds=10)
    rows = epochs.run(windowed, event(second=1), event(second=12), event(second=3))
    assert [(one["window"], one["count"]) for one in values_of(rows)] == [
        ("1970-01-01T00:00:00Z", 2),
        ("1970-01-01T00:00:10Z", 1),
    ]
    # The first window ends at 10 s; at 15 s it closes, with what the same epoch has brought before.
    rows = epochs.run(event(second=9), event(second=15), event(second=9, offset=3), event("d", second=9))
    (letter,) = values_of(row for row in rows if row.sink == REJECTED)
    assert letter["reason"].startswith("its window is closed")
    assert [(one["customer"], one["window"][-3:], one["count"]) for one in values_of(rows[1:])] == [
        ("c", "00Z", 3),
        ("c", "10Z", 2),
        ("d", "00Z", 1),
    ]
    assert Totals.of(epochs.totals.content["r", "c"]) == Totals({10: Total(2, 2)}, 15_000_000)  # type: ignore[index]


def test_a_window_needs_a_time() -> None:
    rows = Epochs().run(rule(windowSeconds=10), event(second=None))
    assert [letter["reason"] for letter in values_of(rows)] == ["the event has no time, and the rule has a window"]


def test_times_before_1970_have_windows() -> None:
    assert [one["window"] for one in values_of(Epochs().run(rule(windowSeconds=10), event(second=-0.5)))] == [
        "1969-12-31T23:59:50Z"
    ]


def test_of_several_books_with_the_same_rules_one_says_what_is_none() -> None:
    epochs = Epochs()
    epochs.run(rule(when="1 / event.size == 1"), rule(id="gone"), event(size=1))
    rows = list(epochs.book.epoch(1, [rule(when="1"), removed("gone")], [event(size=0)], says_bad=False))
    assert [(row.sink, row.value is None) for row in rows] == [(RESULTS, True), (REJECTED, False)]
