"""Trials of the rules about what each kind of sink needs."""

from __future__ import annotations

from typing import Any, Final

from cluster.crd_base import Overrides
from cluster.crd_case import SECRET, TWO_PLACES, Case


def postgres(**more: Any) -> Overrides:
    """A sink in PostgreSQL."""
    table = {"host": "db", "database": "shop", "user": "tandem", "table": "totals", **more}
    return {"spec.sinks": [{"name": "totals", "postgres": table}]}


def iceberg(**secrets: Any) -> Overrides:
    """A sink that is an Iceberg table."""
    return {"spec.sinks": [{"name": "lake", "iceberg": {"table": "shop.orders", "secretProperties": secrets}}]}


_TLS: Final = {"useTls": True, "caFile": "/ca.pem"}
_FILES: Final = {**_TLS, "certFile": "/c.pem", "keyFile": "/k.pem"}

SINKS: Final = (
    Case(
        "upsert-has-a-key",
        postgres(mode="upsert", key=["customer", "day"]),
        postgres(mode="upsert"),
        "mode upsert needs the columns of a key",
    ),
    Case("upsert-has-a-key", postgres(), postgres(key=["customer"]), "mode append (the default) has none"),
    Case("postgres-files-need-tls", postgres(useTls=True, caFile="/ca"), postgres(caFile="/ca"), "as useTls is false"),
    Case("postgres-tls-has-its-ca", postgres(**_TLS), postgres(useTls=True), "by caFile, which is missing"),
    Case(
        "postgres-certificate-has-its-key",
        postgres(**_FILES),
        postgres(**_TLS, certFile="/c.pem"),
        "certFile and keyFile need each other",
    ),
    Case(
        "secret-comes-from-one-place",
        iceberg(token=SECRET),
        iceberg(token=TWO_PLACES),
        "of none or of several places",
    ),
    *(
        Case(
            "secret-comes-from-one-place",
            postgres(**_FILES, **{name: SECRET}),
            postgres(**_FILES, **{name: TWO_PLACES}),
            "of none or of several places",
        )
        for name in ("password", "keyPassword")
    ),
)
