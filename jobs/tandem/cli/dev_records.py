"""`tandem dev produce` and `tandem dev consume`: records into a job's sources, and rows out of its sinks."""

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from tandem.cli.stores import Screen
from tandem.cli.validate import ManifestFile
from tandem.devtools.feeding import LineProducer, values_of
from tandem.devtools.rows import RowReader
from tandem.devtools.streams import UnknownStreamError, sink_topic, source_topic
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import MissingTopicError
from tandem.manifest import load
from tandem.process.info import ExitCode
from tandem.topics.declared import DEAD_LETTER_SINK


def produce(
    manifest: ManifestFile,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The name of a source in the manifest.")],
    file: Annotated[
        Path | None,
        typer.Argument(
            exists=True, dir_okay=False, readable=True, help="One record per line.", show_default="the input"
        ),
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="The key of every record.", show_default="records without a key")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(min=0.001, help="Maximum records per second.", show_default="as fast as they come")
    ] = None,
    topic: Annotated[
        str | None, typer.Option(help="Which topic, if the source has several.", show_default="its first")
    ] = None,
) -> None:
    """Send lines to the topic of a source: each line is the value of a record, for example a JSON object.

    Blank lines are skipped. It sends to the Kafka that the manifest names, with its security settings.

    Exit code 0: all were sent; 2: no such file, source or topic; 78: the manifest or Kafka must be fixed first.

    Examples:

      tandem dev produce job.yaml orders orders.jsonl

      tandem dev produce job.yaml orders --key shop-1 --rate 100 < orders.jsonl
    """
    screen = Screen()
    with screen.telling("not all were sent", manifest), _known_names(screen):
        job = load(manifest)
        name = source_topic(job, source, topic)
        connection = KafkaConnection(job.kafka_properties(os.environ)).silent
        producer = LineProducer(connection, name, None if key is None else key.encode())
        try:
            with _opened(screen, file) as lines:
                producer.send(values_of(lines), math.inf if rate is None else rate)
        except KeyboardInterrupt:
            screen.errors.print("stopped")
        producer.finish()
    screen.out.print(f"{producer.sent:,} {'record' if producer.sent == 1 else 'records'} to {name}")


def consume(
    manifest: ManifestFile,
    sink: Annotated[
        str, typer.Argument(metavar="SINK", help=f"The name of a sink in the manifest, or {DEAD_LETTER_SINK}.")
    ],
    from_beginning: Annotated[bool, typer.Option("--from-beginning", help="Include existing rows.")] = False,
    count: Annotated[int | None, typer.Option(min=1, help="Exit after that many rows.", show_default="never")] = None,
    timeout: Annotated[
        float | None,
        typer.Option(min=0.1, help="Exit when no row has arrived for that many seconds.", show_default="never"),
    ] = None,
    epochs: Annotated[bool, typer.Option("--epochs", help="Print the epoch and a tab before each row.")] = False,
) -> None:
    """Print the rows of a sink's topic as they are committed, one per line, until Ctrl-C.

    It reads from the Kafka that the manifest names, with its security settings. Rows of different partitions may arrive in
    any order.

    Exit code 0: done, or stopped as asked; 1: fewer rows arrived than --count asked for; 2: no such file or sink; 78: the
    manifest or Kafka must be fixed first.

    Examples:

      tandem dev consume job.yaml totals

      tandem dev consume job.yaml totals --from-beginning --count 3 --timeout 30

      tandem dev consume job.yaml dead-letter --from-beginning --epochs
    """
    screen = Screen()
    shown = 0
    with screen.telling("not read", manifest), _known_names(screen):
        job = load(manifest)
        name = sink_topic(job, sink)
        reader = _reader(KafkaConnection(job.kafka_properties(os.environ)).silent, sink, name, from_beginning)
        screen.errors.print(f"{name}, {'from its beginning' if from_beginning else 'from now on'}; Ctrl-C ends it")
        try:
            for row in islice(reader.rows(math.inf if timeout is None else timeout), count):
                typer.echo(row.line(epochs))
                shown += 1
        except KeyboardInterrupt:
            return
        finally:
            reader.close()
    if count is not None and shown < count:
        screen.errors.print(f"{shown} of {count} rows came", style="red")
        raise typer.Exit(ExitCode.FAILED)


@contextmanager
def _known_names(screen: Screen) -> Iterator[None]:
    """Leave with the names that there are."""
    try:
        yield
    except UnknownStreamError as error:
        screen.errors.print(str(error), style="red")
        raise typer.Exit(ExitCode.USAGE) from error


@contextmanager
def _opened(screen: Screen, file: Path | None) -> Iterator[BinaryIO]:
    if file is not None:
        with file.open("rb") as lines:
            yield lines
        return
    if sys.stdin.isatty():
        screen.errors.print("One record a line; Ctrl-D ends")
    yield sys.stdin.buffer


def _reader(connection: KafkaConnection, sink: str, topic: str, from_beginning: bool) -> RowReader:
    try:
        return RowReader(connection, topic, from_beginning)
    except MissingTopicError as error:
        if sink != DEAD_LETTER_SINK:
            raise
        raise MissingTopicError(f"{topic} is not there yet: the job makes it when it first runs") from error
