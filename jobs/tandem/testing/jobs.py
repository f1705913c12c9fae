"""The job that a test names: a manifest, or a function, which then is described like one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tandem.manifest import API_VERSION, KIND, Manifest, load, parse

Job: TypeAlias = "str | Path | Manifest | Callable[..., Any]"
"""A manifest's path, a loaded manifest, or the job's function."""

_NAME = "job-under-test"


def manifest_of(
    job: Job,
    sources: Sequence[str],
    schemas: Mapping[str, str] | None,
    sinks: Sequence[str] | None,
    options: Mapping[str, str] | None,
) -> Manifest:
    """The manifest of a test's job; see `run_epochs`. `sources`: those that the test has input for.

    Raises `ManifestError`, `OSError`, `ValueError`, `TypeError`.
    """
    if isinstance(job, str | Path | Manifest):
        if not (schemas is None and sinks is None and options is None):
            raise ValueError("the manifest has the job's schemas, sinks and options: leave them out")
        return job if isinstance(job, Manifest) else load(job)
    if not callable(job):
        raise TypeError(f"the job is a {type(job).__name__}. Give the path of a manifest, or the job's function")
    unknown = sorted(set(schemas or {}) - set(sources))
    if unknown:
        raise ValueError(f"schemas names {unknown[0]!r}, which is no source of inputs: {sorted(sources)}")
    file, where = _place_of(job)
    spec = {
        "job": {**where, "function": job.__name__, "options": dict(options or {})},
        "kafka": {"bootstrapServers": "localhost:9092"},
        "ordering": {"mode": "heartbeat"},
        "sources": [_source(name, (schemas or {}).get(name)) for name in sources],
        "sinks": [{"name": name, "topic": f"to-{name}"} for name in sinks or ("out",)],
    }
    tree = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": _NAME}, "spec": spec}
    return Manifest(parse(tree), file, file.parent)


def _source(name: str, schema: str | None) -> dict[str, Any]:
    return {"name": name, "topics": [name]} | ({} if schema is None else {"format": "json", "schema": schema})


def _place_of(function: Callable[..., Any]) -> tuple[Path, dict[str, str]]:
    """The file of a function, and how a manifest beside it names it: a replica imports it again, and so does a test."""
    name, module = getattr(function, "__qualname__", ""), inspect.getmodule(function)
    source = getattr(module, "__file__", None)
    is_importable = inspect.isfunction(inspect.unwrap(function)) and name.isidentifier()
    if not is_importable or module is None or source is None:
        raise ValueError(
            f"{name or function!r} is no function at the top level of a file, so another process could not import it. "
            "Define it there, or give the path of a manifest"
        )
    file = Path(source).resolve()
    if (file.parent / "__init__.py").is_file():
        return file, {"module": module.__name__}
    return file, {"file": file.name}
