"""Changing the settings of topics, as somebody might behind a job's back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType


def configure(bootstrap: str, topic: str, **settings: str) -> None:
    """Give a topic other settings; in their names, an underscore stands for a dot."""
    entries = [
        ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
        for name, value in settings.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(30)


@contextmanager
def withheld(bootstrap: str, topic: str) -> Iterator[None]:
    """While the block runs, the broker refuses records without a key for `topic`, such as epoch markers."""
    configure(bootstrap, topic, cleanup_policy="compact")
    try:
        yield
    finally:
        configure(bootstrap, topic, cleanup_policy="delete")
