"""What Tandem asks a schema registry, and what it makes of its answers, its silence, and of what stands in its place."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from integration.avro_records import ORDER, with_field
from integration.formatted import manifest
from integration.registry_server import RegistryServer
from integration.waiting import eventually
from tandem.formats.avro import AvroReader
from tandem.formats.pins import Pins
from tandem.formats.registry import RegistryTimeoutError, RegistryTroubleError, SchemaRegistry
from tandem.formats.resolved import Formats
from tandem.formats.schemas import RegisteredSchema, SchemaError
from tandem.manifest import Manifest, SinkSpec, SourceSpec

pytestmark = pytest.mark.integration


def asked(server: RegistryServer) -> SchemaRegistry:
    """A client that knows nothing yet."""
    return SchemaRegistry({"url": server.url})


def ignored(_: str) -> None:
    """Waits as long as it takes."""


def reads(server: RegistryServer, topic: str, **source: Any) -> Manifest:
    """A job that reads a topic."""
    orders = SourceSpec.model_validate({"name": "orders", "topics": [topic], "format": "avro", **source})
    return manifest(server, orders, SinkSpec(name="out", topic="out"))


def test_a_generation_keeps_its_schema_though_a_newer_one_is_registered(
    registry: RegistryServer, topic_prefix: str
) -> None:
    subject, job = f"{topic_prefix}-value", reads(registry, topic_prefix)
    first = registry.register(subject, ORDER)
    agreed = Formats.of(job, {}, {}).pins.parts()
    newer = registry.register(subject, with_field("rank", "int", 0))

    assert Formats.of(job, {}, agreed).pins.schemas["source orders value"].id == first
    assert Formats.of(job, {}, {}).pins.schemas["source orders value"].id == newer
    assert Pins.of_tree(Formats.of(job, {}, agreed).pins.tree()).parts() == agreed


def test_another_schema_under_the_id_that_was_agreed_on_is_refused(registry: RegistryServer, topic_prefix: str) -> None:
    schema_id = registry.register(f"{topic_prefix}-value", ORDER)
    agreed = {"source orders value": f"{schema_id}:0123456789abcdef"}

    with pytest.raises(SchemaError, match=f"has another schema under the id {schema_id}"):
        Formats.of(reads(registry, topic_prefix), {}, agreed)
    with pytest.raises(SchemaError, match="has no schema 2000000000"):
        Formats.of(reads(registry, topic_prefix), {}, {"source orders value": "2000000000:0123456789abcdef"})


def test_a_subject_that_is_not_there_is_refused_with_its_name(registry: RegistryServer, topic_prefix: str) -> None:
    with pytest.raises(SchemaError, match=f"has no subject {topic_prefix}-value"):
        Formats.of(reads(registry, topic_prefix), {}, {})
    with pytest.raises(SchemaError, match="has no subject elsewhere"):
        Formats.of(reads(registry, topic_prefix, valueSchema={"subject": "elsewhere"}), {}, {})


def test_a_subject_of_another_kind_is_refused(registry: RegistryServer, topic_prefix: str) -> None:
    registry.register(f"{topic_prefix}-value", 'syntax = "proto3"; message Row { string id = 1; }', "PROTOBUF")

    with pytest.raises(SchemaError, match="is of the type PROTOBUF, not AVRO"):
        Formats.of(reads(registry, topic_prefix), {}, {})


def test_schemas_that_refer_to_others_are_read_with_them(registry: RegistryServer, topic_prefix: str) -> None:
    registry.register(f"{topic_prefix}-order", ORDER)
    outer = {"type": "record", "name": "Sale", "fields": [{"name": "order", "type": "shop.Order"}]}
    body = {
        "schema": str(outer).replace("'", '"'),
        "references": [{"name": "shop.Order", "subject": f"{topic_prefix}-order", "version": 1}],
    }
    schema_id = registry.ask(f"/subjects/{topic_prefix}-value/versions", body)["id"]

    found = asked(registry).by_id(schema_id)

    assert found is not None
    assert "id" in [field.name for field in AvroReader(found).type.field("order").type]


def test_an_id_that_the_registry_has_not_got_is_known_to_be_none(registry: RegistryServer) -> None:
    client = asked(registry)
    heard: list[str] = []

    client.fetch([2_000_000_001], heard.append, 60)

    assert client.known(2_000_000_001) is None
    assert heard[0] == "the schema registry, which does not know schema 2000000001"


def test_a_registry_that_is_away_is_waited_for_and_then_gives_the_schema(own_registry: RegistryServer) -> None:
    schema_id = own_registry.register("orders-value", ORDER)
    client, heard = asked(own_registry), list[str]()
    own_registry.kill()
    fetching = threading.Thread(target=client.fetch, args=([schema_id], heard.append, 240))
    fetching.start()
    assert eventually(lambda: len(heard) > 3)
    assert f"the schema registry, for schema {schema_id} (the schema registry {own_registry.url} gives no" in heard[-1]

    own_registry.start()
    fetching.join(240)

    found = client.known(schema_id)
    assert found is not None
    assert AvroReader(found).type == AvroReader(RegisteredSchema(1, "AVRO", found.text)).type


@pytest.mark.thorough
def test_a_registry_that_is_silent_ends_the_wait_in_time(own_registry: RegistryServer) -> None:
    schema_id = own_registry.register("orders-value", ORDER)
    own_registry.pause()
    began = time.monotonic()
    try:
        with pytest.raises(
            RegistryTimeoutError, match=f"schema {schema_id} did not come within 1 s.*Nothing was skipped"
        ):
            asked(own_registry).fetch([schema_id], ignored, 1)
    finally:
        own_registry.resume()
    assert time.monotonic() - began < 60


def test_the_404_of_what_stands_in_the_registrys_place_is_none_of_a_schema(registry: RegistryServer) -> None:
    elsewhere = SchemaRegistry({"url": f"{registry.url}/elsewhere"})

    with pytest.raises(RegistryTroubleError, match="answers"):
        elsewhere.by_id(1)


def test_whoever_gives_up_waiting_is_heard(own_registry: RegistryServer) -> None:
    own_registry.kill()

    def give_up(_: str) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        asked(own_registry).fetch([1], give_up, 60)
