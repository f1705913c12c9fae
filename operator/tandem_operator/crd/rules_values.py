"""Rules about single values, where a pattern cannot say what the runtime's models check."""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from typing import Final

from tandem.manifest import Duration
from tandem_operator.crd.cel import Path, Rule, is_duration, path, text, texts
from tandem_operator.crd.fields import durations

_PORT_TOO_HIGH: Final = "[7-9][0-9]{4}|6[6-9][0-9]{3}|65[6-9][0-9]{2}|655[4-9][0-9]|6553[6-9]"
_MEMORY: Final = "^[0-9]{1,9}[kmgtKMGT]$"
_NUMBER: Final = "int(self.substring(0, self.size() - 1))"
_SECRET_WORDS: Final = (
    *(
        "secret",
        "token",
        "password",
        "passwd",
        "credential",
        "credentials",
        "account_key",
        "connection_string",
        "private",
    ),
)
_TOPICS: Final = (
    path("spec.sources[].topics[]"),
    path("spec.sinks[].topic"),
    *(path(f"spec.kafka.topics.{name}") for name in ("ordering", "commits", "deadLetter", "checkpoints")),
)


def _durations() -> Iterator[Rule]:
    every: list[Path] = []
    for at, bounds in durations():
        least, most = str(Duration(bounds.least)), str(Duration(bounds.most))
        every.append(at)
        yield Rule(
            f"duration-{'-'.join(at[1:])}",
            (at,),
            f"!{is_duration('self')} || (duration(self) >= duration({text(least)}) && duration(self) <= "
            f"duration({text(most)}))",
            f"is out of bounds. Choose between {least} and {most}",
        )
    yield Rule(
        "duration-is-whole-milliseconds",
        tuple(every),
        "!self.matches('^[0-9]+[.][0-9]*[1-9][0-9]*ms$') && !self.matches('^[0-9]+[.][0-9]{3}[0-9]*[1-9][0-9]*s$')",
        "is a fraction of a millisecond. Durations are whole milliseconds, e.g. 1ms",
    )


def _no_secret_words() -> str:
    words = (f"!name.startsWith({text(word)}) && !name.endsWith({text(word)})" for word in _SECRET_WORDS)
    return f"self.all(name, name != 'key' && {' && '.join(words)})"


VALUES: Final[tuple[Rule, ...]] = (
    Rule(
        "name-is-no-keyword",
        (path("spec.job.function"), path("spec.sources[].name"), path("spec.sinks[].name")),
        f"!(self in {texts(keyword.kwlist)})",
        "is a word of the Python language. Choose another name",
    ),
    Rule(
        "source-is-not-the-context",
        (path("spec.sources[].name"),),
        "self != 'ctx'",
        "'ctx' is the job's context. Choose another name for the source",
    ),
    Rule(
        "topic-is-free",
        _TOPICS,
        "!self.startsWith('__') && self != '.' && self != '..'",
        "belongs to Kafka itself. Name a topic of your own",
    ),
    Rule(
        "code-is-python",
        (path("spec.job.file"),),
        "self.endsWith('.py')",
        "is no Python file. Name a file that ends in .py, or use spec.job.module",
    ),
    Rule(
        "code-is-no-uri",
        (path("spec.job.file"),),
        "!self.contains('://')",
        "is a URI. Give a path: in the image, or of a key of spec.job.configMap",
    ),
    Rule(
        "port-exists",
        (path("spec.kafka.bootstrapServers"), path("spec.zookeeper.connect")),
        f"!self.matches(':(0+|{_PORT_TOO_HIGH})( |,|/|$)')",
        "names a port that cannot be. Ports are 1 to 65535",
    ),
    Rule(
        "memory-is-enough",
        (path("spec.spark.driverMemory"), path("spec.executors.memory")),
        f"!self.matches({text(_MEMORY)}) || (self.lowerAscii().endsWith('k') ? {_NUMBER} >= 524288 : "
        f"self.lowerAscii().endsWith('m') ? {_NUMBER} >= 512 : {_NUMBER} >= 1)",
        "is too little for Spark. Give at least 512m",
    ),
    Rule(
        "memory-is-in-a-machine",
        (path("spec.spark.driverMemory"), path("spec.executors.memory")),
        f"!self.matches({text(_MEMORY)}) || (self.lowerAscii().endsWith('t') ? {_NUMBER} <= 64 : "
        f"self.lowerAscii().endsWith('g') ? {_NUMBER} <= 65536 : !self.lowerAscii().endsWith('m') || {_NUMBER} <= 67108864)",
        "is more than any machine has. Give at most 64t",
    ),
    Rule(
        "snapshot-store-is-a-url",
        (path("spec.snapshots.store"),),
        "!self.contains('://') || self.matches('^[a-z][a-z0-9+.-]*://')",
        "is no URL. Write a path, or scheme://place, e.g. s3://bucket/snapshots",
    ),
    Rule(
        "snapshot-store-names-a-place",
        (path("spec.snapshots.store"),),
        "!self.matches('^[a-z][a-z0-9+.-]*:///*$') || self.startsWith('file://') || self.startsWith('local://')",
        "names no bucket or host. Write scheme://place, e.g. s3://bucket/snapshots",
    ),
    Rule(
        "snapshot-store-has-no-secret",
        (path("spec.snapshots.store"),),
        "!self.matches('^[^:]*://[^/@]*:[^/@]*@')",
        "holds a secret, which must not stand in a manifest. Move it to spec.snapshots.secretProperties",
        reason="FieldValueForbidden",
    ),
    Rule(
        "snapshot-secret-inline",
        (path("spec.snapshots.properties"),),
        _no_secret_words(),
        "a secret must not stand in a manifest. Move it to spec.snapshots.secretProperties, e.g. secret: "
        "{secretKeyRef: {name: store-login, key: secret}}",
        reason="FieldValueForbidden",
    ),
    *_durations(),
)
