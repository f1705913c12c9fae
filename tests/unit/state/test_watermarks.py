"""The watermarks of merged states are the newest that were seen."""

import json

from tandem.state.watermarks import latest_commit, latest_times, latest_watermarks


def test_the_latest_of_all_lanes_counts_with_the_settings_of_the_first() -> None:
    first = {"batchWatermarkMs": 5, "batchTimestampMs": 9, "conf": {"spark.sql.shuffle.partitions": "2"}}
    second = {"batchWatermarkMs": 7, "batchTimestampMs": 8, "conf": {}}
    entries = [json.dumps(first), json.dumps(second)]
    assert json.loads(latest_times(entries)) == {**first, "batchWatermarkMs": 7}
    assert json.loads(latest_times(entries, unseen=True))["batchWatermarkMs"] == 0


def test_the_next_watermark_is_the_latest() -> None:
    entries = ['{"nextBatchWatermarkMs":5}', '{"nextBatchWatermarkMs":4}']
    assert json.loads(latest_commit(entries)) == {"nextBatchWatermarkMs": 5}
    assert json.loads(latest_commit(entries, unseen=True)) == {"nextBatchWatermarkMs": 0}


def test_of_several_watermarks_each_is_the_latest_of_its_own() -> None:
    def note(left: int | None, right: int, after: int) -> str:
        marks = [{"column": "l", "watermarkMs": left, "rowMs": 1}, {"column": "r", "watermarkMs": right, "rowMs": 2}]
        return json.dumps({"watermarks": marks, "groups": [{"before": 0, "after": after}]})

    found = json.loads(latest_watermarks([note(None, 30, 10), note(20, 10, 11)]))
    assert [mark["watermarkMs"] for mark in found["watermarks"]] == [20, 30]
    assert found["groups"] == [{"before": 0, "after": 11}]
    assert json.loads(latest_watermarks([note(None, 1, 1)]))["watermarks"][0]["watermarkMs"] is None
