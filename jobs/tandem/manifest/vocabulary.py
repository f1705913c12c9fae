"""Which keys a manifest knows where, to tell a misspelt key from a misplaced one."""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from tandem.manifest.models import ReplicatedStreamJob
from tandem.manifest.problems import Location
from tandem.manifest.values import Section


def keys_at(location: Location) -> tuple[str, ...]:
    """The keys that the section at `location` knows; none if there is no section."""
    kind: Any = ReplicatedStreamJob
    for part in location:
        kind = _inside(_bare(kind), part)
    kind = _bare(kind)
    return tuple(_fields(kind)) if isinstance(kind, type) and issubclass(kind, Section) else ()


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` was probably meant to be; case, '_' and '-' do not count."""
    folded = {_folded(candidate): candidate for candidate in known}
    near = get_close_matches(_folded(word), folded, 1, 0.7)
    return folded[near[0]] if near else None


@cache
def homes(key: str) -> tuple[str, ...]:
    """The sections that know `key`, as paths; `[]` stands for any index."""
    return tuple(path for name, path in _walk(ReplicatedStreamJob, "") if name == key)


def _walk(kind: Any, path: str) -> Iterator[tuple[str, str]]:
    kind = _bare(kind)
    if get_origin(kind) is tuple:
        yield from _walk(get_args(kind)[0], f"{path}[]")
    if isinstance(kind, type) and issubclass(kind, Section):
        for key, annotation in _fields(kind).items():
            yield key, path
            yield from _walk(annotation, f"{path}.{key}" if path else key)


def _fields(section: type[Section]) -> dict[str, Any]:
    return {info.alias or name: info.annotation for name, info in section.model_fields.items()}


def _inside(kind: Any, part: str | int) -> Any:
    if isinstance(kind, type) and issubclass(kind, Section):
        return _fields(kind).get(str(part))
    if get_origin(kind) is tuple:
        return get_args(kind)[0]
    return get_args(kind)[1] if get_origin(kind) is Mapping else None


def _bare(kind: Any) -> Any:
    if get_origin(kind) is Annotated:
        return _bare(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return _bare(next(part for part in get_args(kind) if part is not type(None)))
    return kind


def _folded(word: str) -> str:
    return word.replace("_", "").replace("-", "").lower()
