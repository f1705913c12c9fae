"""Rules about what each kind of sink needs."""

from __future__ import annotations

from typing import Final

from tandem.manifest.streams import KINDS
from tandem_operator.crd.cel import Rule, exactly_one, path

_POSTGRES: Final = (path("spec.sinks[].postgres"),)

SINKS: Final[tuple[Rule, ...]] = (
    Rule(
        "sink-is-of-one-kind",
        (path("spec.sinks[]"),),
        exactly_one(*(f"self.{kind}" for kind in KINDS)),
        f"says of none or of several places where to write. Give exactly one of {', '.join(KINDS)}",
        mirrors=("sinks_are_of_one_kind",),
    ),
    Rule(
        "upsert-has-a-key",
        _POSTGRES,
        "self.mode == 'upsert' ? has(self.key) && size(self.key) > 0 : !has(self.key) || size(self.key) == 0",
        "mode upsert needs the columns of a key, and mode append (the default) has none. Add key: [column], or remove it",
        field_path=".key",
        mirrors=("upserts_have_a_key",),
    ),
    Rule(
        "postgres-files-need-tls",
        _POSTGRES,
        "self.useTls || (!has(self.caFile) && !has(self.certFile) && !has(self.keyFile))",
        "caFile, certFile and keyFile are without effect, as useTls is false. Set useTls: true",
        field_path=".useTls",
        mirrors=("postgres_tls_is_complete",),
    ),
    Rule(
        "postgres-tls-has-its-ca",
        _POSTGRES,
        "!self.useTls || has(self.caFile)",
        "useTls checks the server's certificate by caFile, which is missing. Add the CA's PEM, e.g. caFile: "
        "/etc/ssl/certs/ca-certificates.crt",
        field_path=".useTls",
        mirrors=("postgres_tls_is_complete",),
    ),
    Rule(
        "postgres-certificate-has-its-key",
        _POSTGRES,
        "has(self.certFile) == has(self.keyFile)",
        "certFile and keyFile need each other. Add the missing one",
        mirrors=("postgres_tls_is_complete",),
    ),
)
