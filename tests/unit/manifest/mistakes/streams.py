"""Mistakes in spec.sources and spec.sinks, and the topics between them."""

from __future__ import annotations

from unit.manifest.mistakes.mark import HERE, Mistake

REGISTRY = 'schemaRegistry: {url: "http://registry:8081"}'

STREAMS: dict[str, Mistake] = {
    "a topic with a space": (
        "topic: delays", f"topic: my delays {HERE}", "spec.sinks[0].topic", "no name of a Kafka topic",
    ),
    "a pattern of topics": (
        "topics: [flights]", f"topics: [flights.*] {HERE}", "spec.sources[0].topics[0]", "patterns",
    ),
    "a topic of Kafka itself": (
        "topic: delays", f"topic: __consumer_offsets {HERE}", "spec.sinks[0].topic", "belongs to Kafka itself",
    ),
    "a text for a list of topics": (
        "topics: [flights]", f"topics: flights {HERE}", "spec.sources[0].topics", "Write [flights]",
    ),
    "no topics": ("topics: [flights]", f"topics: [] {HERE}", "spec.sources[0].topics", "is an empty list"),
    "an output that is an input": (
        "topic: delays", f"topic: flights {HERE}", "spec.sinks[0].topic", "the job would read its own output",
    ),
    "one topic in two sources": (
        "topics: [weather]", f"topics: [flights] {HERE}", "spec.sources[1].topics[0]", "Keep one source for it",
    ),
    "one topic twice in a source": (
        "topics: [weather]", f"topics: [weather, weather] {HERE}", "spec.sources[1].topics[1]", "Name it once",
    ),
    "an ordering topic that is an input": (
        "    topics: {}", f"    topics:\n      ordering: weather {HERE}",
        "spec.kafka.topics.ordering", "an input of source weather",
    ),
    "an output to a topic of Tandem": (
        "topic: delays", "topic: flights.commits", "spec.kafka.topics.commits", "already the output of sink delays",
    ),
    "two sinks to one topic": (
        "parquet:\n        path: /data/out", f"topic: delays {HERE}", "spec.sinks[1].topic", "Give each its own topic",
    ),
    "two sinks of one name": (
        "name: archive", f"name: delays {HERE}", "spec.sinks[1].name", "also the name of spec.sinks[0]",
    ),
    "two tables whose names differ only in case": (
        "name: delays\n      topic: delays\n    - name: archive",
        f"name: Archive\n      parquet: {{path: /data/other}}\n    - name: archive {HERE}",
        "spec.sinks[1].name", "which Spark ignores. Give each table another name",
    ),
    "columns that differ only in case": (
        "schema: carrier STRING, dep_delay DOUBLE", f"schema: id STRING, ID INT {HERE}", "spec.sources[0].schema",
        "the columns id and ID differ only in case, which Spark ignores. Rename one of them, or set",
    ),
    "a truth value in quotes": (
        "topics: [weather]", f'topics: [weather]\n      includeHeaders: "false" {HERE}',
        "spec.sources[1].includeHeaders", "Write true or false, without quotes",
    ),
    "two sources of one name": ("name: weather", f"name: flights {HERE}", "spec.sources[1].name", "spec.sources[0]"),
    "a source that cannot be a parameter": (
        "name: weather", f"name: the-weather {HERE}", "spec.sources[1].name", "no Python identifier",
    ),
    "a source named by a keyword": (
        "name: weather", f"name: class {HERE}", "spec.sources[1].name", "a word of the Python",
    ),
    "a source named like the context": (
        "name: weather", f"name: ctx {HERE}", "spec.sources[1].name", "the job's context",
    ),
    "json without a schema": (
        "      schema: carrier STRING, dep_delay DOUBLE\n", "", "spec.sources[0].schema", "format json needs a schema",
    ),
    "a schema for raw bytes": (
        "      format: json\n      schema: carrier STRING, dep_delay DOUBLE",
        f"      schema: carrier STRING {HERE}", "spec.sources[0].schema", "Set format: json, or remove the schema",
    ),
    "a misspelt type": (
        "schema: carrier STRING, dep_delay DOUBLE", f"schema: carrier STRNG {HERE}",
        "spec.sources[0].schema", "carrier has the unknown type STRNG, perhaps STRING",
    ),
    "an unknown format": (
        "format: json", f"format: csv {HERE}", "spec.sources[0].format", "'csv' is none of raw, json, avro, protobuf",
    ),
    "a format without a registry": (
        "topics: [weather]", f"topics: [weather]\n      format: avro {HERE}",
        "spec.sources[1].format", "format avro needs a schema registry. Add spec.schemaRegistry, e.g.",
    ),
    "keys without a registry": (
        "topics: [weather]", f"topics: [weather]\n      keyFormat: protobuf {HERE}",
        "spec.sources[1].keyFormat", "keyFormat protobuf needs a schema registry",
    ),
    "a format of the registry with columns": (
        "topics: [weather]", f"topics: [weather]\n      format: avro\n      schema: a INT {HERE}\n  {REGISTRY}",
        "spec.sources[1].schema", "has its columns by a schema of the registry. Remove it; a reader",
    ),
    "a registered schema of raw bytes": (
        "topics: [weather]", f"topics: [weather]\n      valueSchema: {{subject: weather}} {HERE}",
        "spec.sources[1].valueSchema", "is without effect, as format is raw. Set format: avro or format: protobuf",
    ),
    "a message of Avro": (
        "topics: [weather]",
        f"topics: [weather]\n      keyFormat: avro\n      keySchema: {{message: Order}} {HERE}\n  {REGISTRY}",
        "spec.sources[1].keySchema.message", "avro has no messages. Remove it",
    ),
    "a schema given twice": (
        "topics: [weather]",
        f"topics: [weather]\n      format: avro\n      valueSchema: {{subject: w, text: '\"string\"'}} {HERE}\n  {REGISTRY}",
        "spec.sources[1].valueSchema.subject", "Keep one of subject and text",
    ),
    "a schema that is no JSON": (
        "topics: [weather]",
        f"topics: [weather]\n      format: avro\n      valueSchema: {{text: 'record Order'}} {HERE}\n  {REGISTRY}",
        "spec.sources[1].valueSchema.text", "is no JSON, as a schema of Avro is",
    ),
    "several topics with one schema": (
        "topics: [weather]", f"topics: [weather, winds] {HERE}\n      format: avro\n  {REGISTRY}",
        "spec.sources[1].topics", "not clear whose schema it is read by. Name one, e.g. valueSchema: {subject: ",
    ),
    "rows of a format without a registry": (
        "topic: delays", f"topic: delays\n      format: avro {HERE}",
        "spec.sinks[0].format", "format avro needs a schema registry. Add spec.schemaRegistry, e.g.",
    ),
    "a table in a format of records": (
        "        path: /data/out", f"        path: /data/out\n      format: json {HERE}",
        "spec.sinks[1].format", "format json is of the records of a topic, and this is a table. Remove it",
    ),
    "a registered schema of rows in JSON": (
        "topic: delays", f"topic: delays\n      format: json\n      valueSchema: {{subject: d}} {HERE}",
        "spec.sinks[0].valueSchema", "is without effect, as format is json. Set format: avro or format: protobuf, or remove",
    ),
    "a registry without a scheme": (
        "  sources:", f"  schemaRegistry: {{url: 'registry:8081'}} {HERE}\n  sources:",
        "spec.schemaRegistry.url", "is no URL of a registry. Write e.g. http://registry:8081",
    ),
    "a login in the registry's URL": (
        "  sources:", f"  schemaRegistry: {{url: 'http://me:secret@registry'}} {HERE}\n  sources:",
        "spec.schemaRegistry.url", "a secret must not stand in a manifest. Move the login to",
    ),
    "a login of the registry in its properties": (
        "  sources:", f"  {REGISTRY[:-1]}, properties: {{basic.auth.user.info: 'a:b'}}}} {HERE}\n  sources:",
        "spec.schemaRegistry.properties[basic.auth.user.info]", "Move it to spec.schemaRegistry.secretProperties, e.g.",
    ),
    "a property of the registry's other clients": (
        "  sources:", f"  {REGISTRY[:-1]}, properties: {{auto.register.schemas: 'false'}}}} {HERE}\n  sources:",
        "spec.schemaRegistry.properties[auto.register.schemas]", "a field of its own: spec.schemaRegistry.register",
    ),
    "a property of the registry given twice": (
        "  sources:",
        f"  {REGISTRY[:-1]}, properties: {{proxy: p}}, secretProperties: {{proxy: {{env: P}}}}}} {HERE}\n  sources:",
        "spec.schemaRegistry.secretProperties.proxy", "Keep one of them",
    ),
    "offsets of Kafka's older name": (
        "format: json", f"format: json\n      startingOffsets: smallest {HERE}",
        "spec.sources[0].startingOffsets", "earliest",
    ),
    "no sinks": (
        "  sinks:\n    - name: delays\n      topic: delays\n    - name: archive\n      parquet:\n        path: /data/out\n",
        f"  sinks: [] {HERE}\n", "spec.sinks", "Give at least one",
    ),
    "a sink to nowhere": (
        "    - name: delays\n      topic: delays", f"    - name: delays {HERE}",
        "spec.sinks[0]", "exactly one of topic",
    ),
    "a sink to two places": (
        "topic: delays", f"topic: delays\n      delta: {{path: /b}} {HERE}",
        "spec.sinks[0].delta", "topic and delta exclude",
    ),
    "a table in an unknown store": (
        "        path: /data/out", f"        path: s3n://lake/out {HERE}",
        "spec.sinks[1].parquet.path", "nothing lasting can be written to s3n://. Write a path, or one of file, local, s3,",
    ),
    "a table in the memory of a process": (
        "        path: /data/out", f"        path: memory://lake/out {HERE}",
        "spec.sinks[1].parquet.path", "nothing lasting can be written to memory://",
    ),
    "a table by a URI of Hadoop": (
        "        path: /data/out", f"        path: hdfs:/data/out {HERE}",
        "spec.sinks[1].parquet.path", "taken for a folder named hdfs: beside the manifest. Write hdfs:///data/out",
    ),
    "a table by a file's URI of Hadoop": (
        "        path: /data/out", f"        path: file:/data/out {HERE}", "spec.sinks[1].parquet.path", "Write /data/out",
    ),
    "a schema that is a list": (
        "schema: carrier STRING, dep_delay DOUBLE", f"schema: [carrier STRING] {HERE}",
        "spec.sources[0].schema", "Write one text, e.g. schema: carrier STRING, delay DOUBLE",
    ),
    "a table without a path": ("        path: /data/out", "        {}", "spec.sinks[1].parquet.path", "is missing"),
    "a table within another": (
        "topic: delays", "delta: {path: /data}", "spec.sinks[1].parquet.path", "Give each table a folder of its own",
    ),
    "a table where the state is": (
        "        path: /data/out", f"        path: /data/out {HERE}\n  checkpoint: {{directory: /data/out}}",
        "spec.sinks[1].parquet.path", "spec.checkpoint.directory (/data/out) lie within each other. Give the table a folder",
    ),
    "a table where the snapshots are": (
        "        path: /data/out", f"        path: /data/flights/out {HERE}\n  snapshots: {{store: /data}}",
        "spec.sinks[1].parquet.path", "spec.snapshots.store (/data/flights) lie within each other",
    ),
    "a table around the snapshots": (
        "        path: /data/out", f"        path: /data {HERE}\n  snapshots: {{store: /data/store}}",
        "spec.sinks[1].parquet.path", "spec.snapshots.store (/data/store/flights) lie within each other",
    ),
}  # fmt: skip
