"""What a manifest needs of the machine is looked at before anything starts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tandem.cli.main import app
from tandem.manifest import load
from tandem.process.surroundings import check_surroundings
from unit.manifest.test_validate_command import validate

Writer = Callable[..., Path]
TLS = "properties: {security.protocol: SSL, ssl.ca.location: ca.pem}"
GS = ("        path: /data/out", "        path: gs://lake/out")


def said(path: Path, environ: Mapping[str, str] = os.environ) -> list[str]:
    return [str(problem) for problem in check_surroundings(load(path), environ)]


def test_a_good_manifest_needs_nothing(write: Writer) -> None:
    assert said(write()) == []


def test_a_file_that_is_not_there_is_named_and_relative_ones_start_from_the_manifest(
    write: Writer, tmp_path: Path
) -> None:
    path = write(("properties: {}", TLS))
    assert said(path) == [
        "spec.kafka.properties[ssl.ca.location]: there is no file ca.pem. Relative paths start from the manifest's folder; "
        "in a pod, mount it"
    ]

    (tmp_path / "ca.pem").write_text("no certificate")
    assert load(path).kafka_properties({})["ssl.ca.location"] == str(tmp_path / "ca.pem")
    assert said(path)[0].startswith(
        "spec.kafka.properties[ssl.ca.location]: the Kafka client refuses it: ssl.ca.location failed"
    )


def test_zookeeper_s_files_are_looked_for_too(write: Writer) -> None:
    path = write(("connect: localhost:2181", "connect: localhost:2181\n    useTls: true\n    caFile: zk.pem"))

    assert said(path)[0].startswith("spec.zookeeper.caFile: there is no file zk.pem")


def test_a_library_that_a_table_or_a_store_needs_is_named(write: Writer) -> None:
    assert said(write(GS)) == [
        "spec.sinks[1].parquet.path: gs://lake/out needs the package gcsfs, which is not installed. Run pip install gcsfs, "
        "here and in the job's image"
    ]
    assert (
        "abfss://lake/x needs the package adlfs"
        in said(write(("  spark: {}", "  snapshots: {store: 'abfss://lake/x'}")))[0]
    )


def test_a_jar_that_is_not_there_is_named_since_spark_passes_over_it(write: Writer, tmp_path: Path) -> None:
    (tmp_path / "mine.jar").write_bytes(b"")
    jars = "mine.jar, /absent.jar,local:///opt/x.jar,s3a://b/y.jar,lib/*.jar"
    spark = f'spark: {{conf: {{spark.jars: "{jars}", spark.files: "{tmp_path}/mine.jar#name"}}}}'

    assert said(write(("spark: {}", spark))) == [
        "spec.spark.conf[spark.jars]: there is no file /absent.jar. Relative paths start from the manifest's folder; in a "
        "pod, mount it"
    ]


def test_files_of_spark_start_from_the_manifest_wherever_a_replica_works(
    write: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib").mkdir()
    for name in ("mine.jar", "lib/a.jar", "lib/mine.zip"):
        (tmp_path / name).write_bytes(b"")
    files = "mine.jar, lib/*.jar,none/*.jar,absent.jar,/opt/x.jar,/opt/*.jar,local:///x.jar,lib/mine.zip#name"
    conf = f'{{spark.jars: "{files}", spark.submit.pyFiles: lib/mine.zip, spark.mine: mine.jar}}'
    manifest = load(write(("spark: {}", f"spark: {{conf: {conf}}}")))
    monkeypatch.chdir("/")

    assert manifest.spark.conf == {
        "spark.jars": f"{tmp_path}/mine.jar,{tmp_path}/lib/*.jar,none/*.jar,absent.jar,/opt/x.jar,/opt/*.jar,"
        f"local:///x.jar,{tmp_path}/lib/mine.zip#name",
        "spark.submit.pyFiles": f"{tmp_path}/lib/mine.zip",
        "spark.mine": "mine.jar",
    }
    assert manifest.spark.parallelism == manifest.spec.spark.parallelism
    assert manifest.spec.spark.conf["spark.submit.pyFiles"] == "lib/mine.zip", (
        "it is part of the job, wherever that lies"
    )


def test_a_value_that_the_kafka_client_does_not_take_is_found_without_a_broker(write: Writer) -> None:
    assert said(write(("properties: {}", "properties: {socket.timeout.ms: fast}"))) == [
        "spec.kafka.properties[socket.timeout.ms]: the Kafka client refuses it: Invalid value for configuration property "
        '"socket.timeout.ms". Correct it, or remove it'
    ]
    fetch = said(write(("properties: {}", 'properties: {fetch.max.bytes: "1000"}')))
    assert fetch == [
        "spec.kafka.properties[fetch.max.bytes]: the Kafka client refuses it: `fetch.max.bytes` must be >= "
        "`message.max.bytes`. Correct it, or remove it"
    ]
    kerberos = "properties: {security.protocol: SASL_SSL, sasl.mechanism: GSSAPI}"
    assert "No provider for SASL mechanism GSSAPI" in said(write(("properties: {}", kerberos)))[0]


def test_secrets_that_are_elsewhere_do_not_keep_a_manifest_from_being_checked(write: Writer) -> None:
    login = (
        "properties: {security.protocol: SASL_SSL, sasl.mechanism: PLAIN, sasl.username: u}\n"
        "    secretProperties: {sasl.password: {env: NOBODY_SETS_THIS}}"
    )
    assert said(write(("properties: {}\n    secretProperties: {}", login)), {}) == []


def test_a_protocol_that_is_a_secret_is_taken_for_none_in_particular(write: Writer) -> None:
    login = (
        "properties: {sasl.mechanism: SCRAM-SHA-512, ssl.endpoint.identification.algorithm: https}\n"
        "    secretProperties: {security.protocol: {env: P}, sasl.username: {env: U}, sasl.password: {env: W}}"
    )
    path = write(("properties: {}\n    secretProperties: {}", login))
    assert said(path, {"P": "SASL_SSL", "U": "u", "W": "w"}) == []


def test_validate_says_so_and_only_notes_it_in_a_manifest_for_kubernetes(write: Writer) -> None:
    code, lines, _ = validate(write(GS))
    assert (code, len(lines)) == (1, 1)
    assert "needs the package gcsfs" in lines[0]

    code, lines, _ = validate(write(GS, ("  spark: {}", "  image: example.com/flights:1")))
    assert (code, len(lines)) == (0, 2)
    assert "needs the package gcsfs" in lines[0]
    assert ": valid (" in lines[1]


def test_run_refuses_before_it_starts_a_process(write: Writer) -> None:
    result = CliRunner().invoke(app, ["run", str(write(GS))])

    assert result.exit_code == 78
    assert "needs the package gcsfs" in result.stdout


def test_run_refuses_a_store_that_nobody_knows_with_those_that_are_known(write: Writer) -> None:
    result = CliRunner().invoke(app, ["run", str(write(("        path: /data/out", "        path: s3n://lake/out")))])

    assert result.exit_code == 78
    assert (
        "nothing lasting can be written to s3n://. Write a path, or one of file, local, s3, s3a, gs," in result.stdout
    )


def test_a_field_without_effect_is_noted(write: Writer) -> None:
    code, lines, _ = validate(write(("mode: leader", "mode: leader\n    generators: 3")))

    assert code == 0
    assert "spec.ordering.generators: has no effect in mode leader. Set mode: heartbeat, or remove it" in lines[0]


def test_an_option_that_the_snapshot_store_would_pass_over_is_refused(write: Writer) -> None:
    properties = "properties: {endpoint: 'http://a', use_ssl: 'false', CACHES}, secretProperties: {key: {env: A}}"
    properties = properties.replace("CACHES", "skip_instance_cache: 'true', use_listings_cache: 'false'")
    given = f"  snapshots: {{store: s3://b/x, {properties}}}"

    assert said(write(("  spark: {}", given))) == [
        "spec.snapshots.properties.endpoint: s3fs has no option endpoint, and passes over it in silence. Did "
        "you mean endpoint_url?"
    ]
