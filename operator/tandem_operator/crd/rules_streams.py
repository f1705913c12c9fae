"""Rules about sources, sinks, and the topics between them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tandem.manifest.places import DELTA, PACKAGES
from tandem_operator.crd.cel import Rule, path, text

_ROOT: Final = ((),)
_SPEC: Final = (path("spec"),)

_SUFFIXES: Final = {
    "ordering": ".ordering",
    "commits": ".commits",
    "deadLetter": ".dead-letter",
    "checkpoints": ".checkpoints",
}


def own_topic(name: str, whole: str = "self") -> str:
    """The name of a topic of Tandem's own, with its default filled in; `whole` is the object."""
    given = f"{whole}.spec.kafka.topics.{name}"
    return f"(has({given}) ? {given} : {whole}.metadata.name + '{_SUFFIXES[name]}')"


_ORDERING, _COMMITS, _DEAD_LETTER, _CHECKPOINTS = (own_topic(name) for name in _SUFFIXES)
_SHIPS: Final = (
    "(self.spec.ordering.mode != 'none' && "
    "(has(self.spec.checkpoint.shipping) ? self.spec.checkpoint.shipping : self.spec.standbys > 0))"
)
_ALWAYS_OWN: Final = f"{_ORDERING}, {_COMMITS}, {_DEAD_LETTER}"
_OWN: Final = f"({_SHIPS} ? [{_ALWAYS_OWN}, {_CHECKPOINTS}] : [{_ALWAYS_OWN}])"


def _folder(sink: str) -> str:
    """The path of a table, with one slash at its end."""
    given = f"(has({sink}.parquet) ? {sink}.parquet.path : {sink}.delta.path)"
    return f"({given}.endsWith('/') ? {given} : {given} + '/')"


def _is_table(sink: str) -> str:
    return f"(has({sink}.parquet) || has({sink}.delta))"


def _lies_in(schemes: Iterable[str]) -> str:
    return " || ".join(("!self.contains('://')", *(f"self.startsWith({text(f'{scheme}://')})" for scheme in schemes)))


STREAMS: Final[tuple[Rule, ...]] = (
    Rule(
        "place-can-be-written-to",
        (path("spec.sinks[].parquet.path"), path("spec.snapshots.store")),
        _lies_in(PACKAGES),
        f"nothing lasting can be written there. Write a path, or a URL of one of {', '.join(PACKAGES)}",
        mirrors=("places_can_be_written_to",),
    ),
    Rule(
        "delta-table-can-be-written-to",
        (path("spec.sinks[].delta.path"),),
        _lies_in(DELTA),
        f"no Delta table can be written there. Write a path, or a URL of one of {', '.join(DELTA)}",
        mirrors=("places_can_be_written_to",),
    ),
    Rule(
        "tables-do-not-meet",
        (path("spec.sinks"),),
        f"self.all(a, !{_is_table('a')} || self.all(b, a.name == b.name || !{_is_table('b')} || "
        f"!{_folder('a')}.startsWith({_folder('b')})))",
        "the folders of two tables lie within each other. Give each table a folder of its own",
        mirrors=("tables_do_not_meet",),
    ),
    Rule(
        "topic-is-of-one-source",
        _SPEC,
        "self.sources.all(a, a.topics.all(topic, self.sources.exists_one(b, topic in b.topics)))",
        "a topic is an input of two sources. Keep one source for it, and use that one twice in the job's function",
        field_path=".sources",
        mirrors=("topics_do_not_meet",),
    ),
    Rule(
        "output-is-no-input",
        _SPEC,
        "self.sinks.all(sink, !has(sink.topic) || self.sources.all(source, !(sink.topic in source.topics)))",
        "a topic is both an input and an output. Write to another topic, or the job would read its own output",
        field_path=".sinks",
        mirrors=("topics_do_not_meet",),
    ),
    Rule(
        "topic-is-of-one-sink",
        (path("spec.sinks"),),
        "self.all(a, !has(a.topic) || self.exists_one(b, has(b.topic) && b.topic == a.topic))",
        "a topic is the output of two sinks. Give each its own topic",
        mirrors=("topics_do_not_meet",),
    ),
    Rule(
        "own-topics-differ",
        _ROOT,
        f"{_ORDERING} != {_COMMITS} && {_ORDERING} != {_DEAD_LETTER} && {_COMMITS} != {_DEAD_LETTER} && "
        f"(!{_SHIPS} || !({_CHECKPOINTS} in [{_ALWAYS_OWN}]))",
        "two of Tandem's own topics (spec.kafka.topics; default: <job>.ordering, .commits, .dead-letter, "
        ".checkpoints) have one name. Give each its own topic",
        field_path=".spec.kafka.topics",
        mirrors=("topics_do_not_meet",),
    ),
    Rule(
        "own-topic-is-no-input",
        _ROOT,
        f"{_OWN}.all(own, self.spec.sources.all(source, !(own in source.topics)))",
        "an input is one of Tandem's own topics (spec.kafka.topics; default: <job>.ordering, .commits, .dead-letter, "
        ".checkpoints). Read another topic, or give Tandem's another name",
        field_path=".spec.sources",
        mirrors=("topics_do_not_meet",),
    ),
    Rule(
        "own-topic-is-no-output",
        _ROOT,
        f"{_OWN}.all(own, self.spec.sinks.all(sink, !has(sink.topic) || sink.topic != own))",
        "an output is one of Tandem's own topics (spec.kafka.topics; default: <job>.ordering, .commits, .dead-letter, "
        ".checkpoints). Write to another topic, or give Tandem's another name",
        field_path=".spec.sinks",
        mirrors=("topics_do_not_meet",),
    ),
)
