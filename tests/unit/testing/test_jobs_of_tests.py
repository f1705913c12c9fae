"""A test names its job by a manifest, or by a function, which is described like one."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from tandem.testing.jobs import manifest_of


def job(orders: Any, rates: Any, ctx: Any) -> Any:
    return orders, rates, ctx


def test_a_function_is_a_job_with_raw_sources_and_one_topic() -> None:
    made = manifest_of(job, ["orders", "rates"], None, None, None)

    assert [(s.name, s.format, s.topics) for s in made.spec.sources] == [
        ("orders", "raw", ("orders",)),
        ("rates", "raw", ("rates",)),
    ]
    assert [(sink.name, sink.kind) for sink in made.spec.sinks] == [("out", "topic")]
    assert (made.resolve(made.spec.job.file or ""), made.spec.job.function) == (Path(__file__).resolve(), "job")


def test_schemas_sinks_and_options_describe_it_further() -> None:
    made = manifest_of(job, ["orders", "rates"], {"orders": "id INT"}, ["a", "b"], {"limit": "5"})

    assert [(s.format, s.schema_ddl) for s in made.spec.sources] == [("json", "id INT"), ("raw", None)]
    assert [sink.name for sink in made.spec.sinks] == ["a", "b"]
    assert made.spec.job.options == {"limit": "5"}


def test_a_function_of_a_package_is_named_by_its_module() -> None:
    made = manifest_of(inspect.getmodule, ["orders"], None, None, None)
    assert made.spec.job.file == "inspect.py"

    from tandem.examples.cards.job import job as of_package

    assert manifest_of(of_package, ["payments"], None, None, None).spec.job.module == "tandem.examples.cards.job"


def nested() -> Any:
    def inner(orders: Any) -> Any:
        return orders

    return inner


@pytest.mark.parametrize("given", [nested(), lambda orders: orders, len])
def test_what_another_process_could_not_import_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="is no function at the top level of a file"):
        manifest_of(given, ["orders"], None, None, None)


@pytest.mark.parametrize(
    ("given", "named", "said"),
    [
        ("job.yaml", {"sinks": ["out"]}, "the manifest has the job's schemas, sinks and options"),
        (3, {}, "the job is a int"),
        (job, {"schemas": {"order": "id INT"}}, "schemas names 'order', which is no source of inputs"),
    ],
)
def test_descriptions_that_make_no_sense_are_refused(given: Any, named: dict[str, Any], said: str) -> None:
    described: dict[str, Any] = {"schemas": None, "sinks": None, "options": None, **named}
    with pytest.raises((ValueError, TypeError), match=said):
        manifest_of(given, ["orders"], **described)
