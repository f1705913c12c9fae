"""Walks the models of a job's spec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from tandem.manifest import Spec
from tandem.manifest.values import Section, Within
from tandem_operator.crd.cel import Path


def durations() -> Iterator[tuple[Path, Within]]:
    """Where there are durations, and their bounds."""
    for path, annotation, metadata in _walk(Spec, ("spec",)):
        for mark in (*metadata, *_marks(annotation)):
            if isinstance(mark, Within):
                yield path, mark


def _walk(section: type[Section], path: Path) -> Iterator[tuple[Path, Any, tuple[Any, ...]]]:
    for name, info in section.model_fields.items():
        at = (*path, info.alias or name)
        yield at, info.annotation, tuple(info.metadata)
        inside, kind = _bare(info.annotation, at)
        if isinstance(kind, type) and issubclass(kind, Section):
            yield from _walk(kind, inside)


def _bare(annotation: Any, path: Path) -> tuple[Path, Any]:
    """What is inside lists, maps, options and annotations, and the path to it."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _bare(arguments[0], path)
    if origin in (Union, UnionType):
        return _bare(next(part for part in arguments if part is not type(None)), path)
    if origin is tuple:
        return _bare(arguments[0], (*path, "[]"))
    if origin is Mapping:
        return _bare(arguments[1], (*path, "{}"))
    return path, annotation


def _marks(annotation: Any) -> tuple[Any, ...]:
    """The marks inside an optional value."""
    if get_origin(annotation) in (Union, UnionType):
        return tuple(mark for part in get_args(annotation) for mark in getattr(part, "__metadata__", ()))
    return ()
