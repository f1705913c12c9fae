"""`tandem.testing`: a user's tests of a job, with the engine that a replica has, and without Kafka."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from ruamel.yaml import YAML

from integration.tested_jobs import (
    copied,
    counted,
    drawn,
    hashing,
    in_the_order_of_a_set,
    of_batches,
    scored,
    split,
    upper,
)
from tandem.checkpoint.position import EnginePosition
from tandem.engine.one_row import LostRowsError
from tandem.engine.query import MicroBatchQuery
from tandem.engine.session import LASTING_TASKS
from tandem.testing import EpochError, JobError, Record, assert_replicas_agree, run_epochs
from tandem.testing.cuts_matter import why_cuts_matter
from tandem.testing.jobs import manifest_of
from tandem.testing.running import prepared

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("spark")]

SLOTS = LASTING_TASKS
ROOT = Path(__file__).parents[2]
ORDER = "customer STRING, amount DOUBLE"
PAYMENTS = {"payments": [[("a", {"id": 1}), {"id": 2}], ["poison", {"id": 3}]]}
ASKED: dict[str, Any] = {
    "schemas": {"payments": "id INT"},
    "options": {"mark": "x"},
    "answers": {"score": lambda records: [str(len(record.value)) for record in records], "limit": 10},
}


def order(customer: str) -> dict[str, Any]:
    return {"customer": customer, "amount": 1.5}


def test_state_goes_from_epoch_to_epoch_and_no_json_becomes_a_dead_letter() -> None:
    epochs = [[order("a"), order("b"), order("a")], ["poison", order("b")], [], [order("a")]]

    found = run_epochs(counted, {"orders": epochs}, schemas={"orders": ORDER})

    assert [sorted((row.key, row.value["count"]) for row in found.rows("out", n)) for n in range(4)] == [
        [("a", 2), ("b", 1)],
        [("b", 2)],
        [],
        [("a", 3)],
    ]
    (letter,) = found.dead_letters()
    assert (letter["source"], letter["value"], letter["offset"]) == ("orders", "poison", 3)
    assert found.dead_letters(0) == []


def test_a_row_that_is_lost_on_its_way_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(query: MicroBatchQuery, position: EnginePosition, give_up: Callable[[], str]) -> pa.Table:
        return take(query, position, give_up).slice(1)

    take = MicroBatchQuery.take
    monkeypatch.setattr(MicroBatchQuery, "take", lost)
    with pytest.raises(LostRowsError, match=r"epoch 0 has 2 records, .* but 1 rows came out"):
        run_epochs(copied, PAYMENTS, schemas={"payments": "id INT"})


def test_state_does_not_outlast_a_run() -> None:
    runs = [run_epochs(counted, {"orders": [order("a")]}, schemas={"orders": ORDER}) for _ in range(2)]

    assert [run.values("out") for run in runs] == [[{"customer": "a", "count": 1}]] * 2


def test_questions_times_and_dice_are_those_of_the_test() -> None:
    found = run_epochs(scored, PAYMENTS, times_ms=[1_000, 2_500], seeds=[3, 4], **ASKED)
    again = run_epochs(scored, PAYMENTS, times_ms=[1_000, 2_500], seeds=[3, 5], **ASKED)

    told = [{name: row[name] for name in ("id", "score", "limit", "time", "mark")} for row in found.values("out")]
    fixed = {"score": "9", "limit": 10, "mark": "x"}
    assert told == [
        {"id": 1, "time": 1_000, **fixed},
        {"id": 2, "time": 1_000, **fixed},
        {"id": 3, "time": 2_500, **fixed},
    ]
    drawn, drawn_again = ([row["drawn"] for row in run.values("out")] for run in (found, again))
    assert drawn[:2] == drawn_again[:2]
    assert drawn[2] != drawn_again[2]


def test_a_question_without_an_answer_is_asked_of_nobody() -> None:
    with pytest.raises(ValueError, match="the job asks 'limit', and a test asks nobody outside"):
        run_epochs(scored, PAYMENTS, **{**ASKED, "answers": {"score": "1"}})


def test_several_sinks_are_told_apart_in_the_order_of_the_merge() -> None:
    events = [Record("z", "k", partition=1), Record("xyz", partition=1), "a", "abc"]

    found = run_epochs(split, {"events": events}, sinks=["short", "long"])

    assert [(row.key, row.value) for row in found["short"]] == [(None, "a"), ("k", "z")]
    assert found.values("long") == ["abc", "xyz"]


def test_a_plan_that_a_replica_refuses_is_refused_here(tmp_path: Path) -> None:
    code = "def job(orders):\n    return orders.selectExpr('uuid() AS value')\n"
    manifest = write(tmp_path, code)

    with pytest.raises(JobError, match=r"Replace uuid\(\): metadata.epoch and metadata.seq together"):
        run_epochs(manifest, {"orders": []})


def test_a_record_about_which_the_code_raises_is_named(tmp_path: Path) -> None:
    manifest = write(
        tmp_path, "def job(orders):\n    return orders.selectExpr('string(1 / (amount - 1.5)) AS value')\n"
    )

    with pytest.raises(EpochError, match=r"DIVIDE_BY_ZERO.*It was about the record orders/0, offset 1 ") as raised:
        run_epochs(manifest, {"orders": [[], [{"customer": "a", "amount": 2}, order("b")]]})

    assert raised.value.epoch == 1


def test_code_that_was_changed_is_imported_again_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path, modules = list(sys.path), set(sys.modules)
    helped = "from helper import WORD\nfrom pyspark.sql import functions as F\n\n\ndef job(orders):\n"
    manifest = write(tmp_path, helped + "    return orders.select(F.lit(WORD).alias('value'))\n")
    found = []
    for word in ("one", "two"):
        (tmp_path / "helper.py").write_text(f"WORD = {word!r} + ''\n")
        found += run_epochs(manifest, {"orders": [order("a")]}).values("counts")

    assert found == ["one", "two"]
    assert sys.path == path
    assert not {"job", "helper"} & (set(sys.modules) - modules)


def test_the_real_time_engine_computes_what_a_manifest_gives_it_and_moves_watermarks_with_each_epoch(
    tmp_path: Path,
) -> None:
    code = "def job(orders):\n    once = orders.withWatermark('at', '1 second').dropDuplicates(['customer', 'at'])\n"
    source = {"name": "orders", "topics": ["orders"], "format": "json", "schema": "customer STRING, at TIMESTAMP"}
    manifest = write(
        tmp_path, f"{code}    return once.selectExpr('customer AS value')\n", engine="realTime", sources=[source]
    )

    def at(customer: str, minute: int) -> dict[str, str]:
        return {"customer": customer, "at": f"2024-01-01T10:{minute:02}:00Z"}

    found = run_epochs(manifest, {"orders": [[at("a", 30), at("a", 30)], ["poison"], [at("late", 1), at("b", 30)]]})

    assert [(row.epoch, row.value) for row in found["counts"]] == [(0, "a"), (2, "b")]
    assert [letter["value"] for letter in found.dead_letters(1)] == ["poison"]


@pytest.mark.parametrize(
    ("job", "source", "why"),
    [
        (upper, "payments", ""),
        (drawn, "payments", "it uses epoch_seed"),
        (counted, "orders", "it keeps state (Aggregate)"),
    ],
)
def test_cuts_matter_where_a_row_is_made_of_more_than_its_record(
    spark: SparkSession, tmp_path: Path, job: Callable[..., Any], source: str, why: str
) -> None:
    manifest = manifest_of(job, [source], {source: ORDER if source == "orders" else "id INT"}, None, None)

    with prepared(spark, manifest, tmp_path) as (ready, _):
        assert why_cuts_matter(ready.query.frame) == why


def test_replicas_agree_on_what_was_asked_once() -> None:
    assert_replicas_agree(scored, PAYMENTS, **ASKED)


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (in_the_order_of_a_set, r"The plan is another one there: the constant .*alpha.*use sorted\(\)"),
        (hashing, r"row 0 is out .*likely cause: the function _hashed \(tested_jobs.py:\d+\)"),
        (of_batches, r"the rows depend on where epochs end.*value=b'1', there out key=b'' value=b'2'"),
    ],
    ids=["the order of a set", "hash()", "batches"],
)
def test_replicas_that_would_differ_are_found_with_the_cause(job: Callable[..., Any], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        assert_replicas_agree(job, {"events": [["a"], ["b"]]})


def test_the_test_of_the_docs_passes_with_the_job_of_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme, page = (ROOT / "README.md").read_text(), (ROOT / "docs" / "how-to" / "test-a-job.md").read_text()
    (code,), (manifest, *_) = (re.findall(rf"```{kind}\n(.*?)```", readme, re.DOTALL) for kind in ("python", "yaml"))
    (tmp_path / "job.py").write_text(code)
    (tmp_path / "job.yaml").write_text(manifest)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], "page", "exec"), names)  # noqa: S102

    tests = [value for name, value in names.items() if name.startswith("test_")]
    for test in tests:
        test()

    assert len(tests) == 2


def write(folder: Path, code: str, **spec: Any) -> Path:
    """A manifest like that of the README, of other code."""
    (folder / "job.py").write_text(code)
    readme = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]
    tree = YAML(typ="safe").load(readme)
    tree["spec"].update(spec)
    path = folder / "job.yaml"
    YAML(typ="safe").dump(tree, path)
    return path


def test_a_session_of_the_test_itself_is_used(spark: SparkSession) -> None:
    run_epochs(split, {"events": []}, sinks=["short", "long"])

    assert SparkSession.getActiveSession() is spark
