"""Logging outlives whatever standard error was while it was set up."""

from __future__ import annotations

import io
import json
import sys

import pytest

from tandem import logs


def test_lines_go_to_standard_error_as_it_is_when_they_are_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as replaced:
        borrowed = io.StringIO()
        replaced.setattr(sys, "stderr", borrowed)
        logs.configure("INFO", job="orders")
        borrowed.close()

    logs.get_logger("test").warning("still_told", epoch=7)

    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["epoch"], line["job"]) == ("still_told", 7, "orders")
