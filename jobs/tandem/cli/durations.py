"""Durations of options, as those of manifests."""

import typer
from pydantic_core import PydanticCustomError

from tandem.manifest import Duration


def parse_duration(text: str) -> float:
    """Seconds in `90s`, `5m`, `1h`. Raises `typer.BadParameter`."""
    try:
        return Duration.parse(text).seconds
    except PydanticCustomError as error:
        raise typer.BadParameter(error.message()) from error
