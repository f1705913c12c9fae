"""Mistakes in what a kind of sink needs."""

from __future__ import annotations

from unit.manifest.mistakes.mark import HERE, Mistake

POSTGRES = "host: db, database: shop, user: tandem, table: totals"

SINKS: dict[str, Mistake] = {
    "an upsert without a key": (
        "topic: delays", f"postgres: {{{POSTGRES}, mode: upsert}} {HERE}",
        "spec.sinks[0].postgres.key", "mode upsert needs the columns of a key. Name the columns that tell rows apart",
    ),
    "an append with a key": (
        "topic: delays", f"postgres: {{{POSTGRES}, key: [carrier]}} {HERE}",
        "spec.sinks[0].postgres.key", "mode append (the default) has no key. Set mode: upsert, or remove the key",
    ),
    "an unknown mode of a table": (
        "topic: delays", f"postgres: {{{POSTGRES}, mode: replace}} {HERE}", "spec.sinks[0].postgres.mode", "append",
    ),
    "a certificate of a table without TLS": (
        "topic: delays", f"postgres: {{{POSTGRES}, caFile: ca.pem}} {HERE}",
        "spec.sinks[0].postgres.caFile", "is without effect, as useTls is false. Set useTls: true",
    ),
    "a database by TLS without a CA": (
        "topic: delays", f"postgres: {{{POSTGRES}, useTls: true}} {HERE}",
        "spec.sinks[0].postgres.caFile", "checks the server's certificate by caFile, which is missing. Add the CA's PEM",
    ),
    "a password of a table in two places": (
        "topic: delays", f"postgres: {{{POSTGRES}, password: {{env: A, file: b}}}} {HERE}",
        "spec.sinks[0].postgres.password", "env and file exclude each other",
    ),
    "a password of a table in the manifest": (
        "topic: delays", f"postgres: {{{POSTGRES}, password: hunter2}} {HERE}", "spec.sinks[0].postgres.password", "",
    ),
    "two sinks that replace each other's rows": (
        "topic: delays\n    - name: archive\n      parquet:\n        path: /data/out",
        f"postgres: {{{POSTGRES}}}\n    - name: archive\n"
        f"      postgres: {{{POSTGRES}, mode: upsert, key: [carrier]}} {HERE}",
        "spec.sinks[1].postgres.table", "each would replace rows of the other. Give each sink a table of its own",
    ),
    "a function without its module": (
        "topic: delays", f"foreachBatch: write {HERE}", "spec.sinks[0].foreachBatch", "Write module:function, e.g. job",
    ),
    "an Iceberg table without a namespace": (
        "topic: delays", f"iceberg: {{table: orders}} {HERE}", "spec.sinks[0].iceberg.table", "Write namespace.table",
    ),
    "a token of a catalog in the manifest": (
        "topic: delays", f"iceberg: {{table: a.b, properties: {{token: abc}}}} {HERE}",
        "spec.sinks[0].iceberg.properties.token", "a secret must not stand in a manifest. Move it to secretProperties of",
    ),
    "a secret of a catalog from nowhere": (
        "topic: delays", f"iceberg: {{table: a.b, secretProperties: {{token: {{}}}}}} {HERE}",
        "spec.sinks[0].iceberg.secretProperties.token", "says nothing of where the secret is",
    ),
}  # fmt: skip
