"""The section `snapshots`: where the store is, how it is opened, and what must not stand there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tandem.manifest import Duration, ManifestError, SecretError, SecretReference, SnapshotsSpec, load

Writer = Callable[..., Path]
SECTION = "  takeOver: {}"


def section(text: str) -> tuple[str, str]:
    return SECTION, f"{SECTION}\n  snapshots: {text}"


def test_without_the_section_no_snapshots_are_taken(write: Writer) -> None:
    assert load(write()).spec.snapshots is None


def test_a_store_is_all_that_must_be_given(write: Writer) -> None:
    snapshots = load(write(section("{store: s3://bucket/snapshots}"))).spec.snapshots

    assert snapshots == SnapshotsSpec(store="s3://bucket/snapshots")
    assert (snapshots.interval, snapshots.retain_count, snapshots.retain_age) == (
        Duration(5_000),
        10,
        Duration(600_000),
    )


def test_every_field_is_read(write: Writer, tmp_path: Path) -> None:
    text = (
        "{store: hdfs://name/x, interval: 1s, retainCount: 3, retainAge: 1h, "
        "properties: {user: tandem, anon: 'false'}, secretProperties: {secret: {file: s}, key: {env: K}}}"
    )
    snapshots = load(write(section(text))).spec.snapshots
    (tmp_path / "s").write_text("geheim\n")

    assert snapshots is not None
    assert (snapshots.interval.ms, snapshots.retain_count, snapshots.retain_age.ms) == (1_000, 3, 3_600_000)
    assert snapshots.options({"K": "id"}, tmp_path) == {
        "user": "tandem",
        "anon": False,
        "secret": "geheim",
        "key": "id",
    }


@pytest.mark.parametrize(
    ("store", "url"),
    [
        ("s3://bucket/a/", "s3://bucket/a/flights"),
        ("file:///data", "file:///data/flights"),
        ("/data", "/data/flights"),
        ("data", "/base/data/flights"),
    ],
)
def test_each_job_has_its_own_folder(store: str, url: str) -> None:
    assert SnapshotsSpec(store=store).url("flights", Path("/base")) == url


def test_a_secret_that_is_not_there_is_named() -> None:
    snapshots = SnapshotsSpec(store="s3://b", secret_properties={"secret": SecretReference(env="ABSENT")})

    with pytest.raises(SecretError, match=r"spec\.snapshots\.secretProperties\[secret\]: .* ABSENT is not set"):
        snapshots.options({})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "store: store is missing. Add it, e.g. store: s3://bucket/snapshots"),
        ("s3://bucket", ": must be a mapping, not a text. .* snapshots: {store: s3://bucket/snapshots}"),
        ("{store: 's3://'}", "names no bucket or host. Write s3://place"),
        ("{store: 'S3 ://x'}", "is no URL. Write a path, or scheme://place"),
        ("{store: 'simplecache::s3://x'}", "is no URL"),
        (
            "{store: 's3://key:geheim@bucket'}",
            "a secret must not stand in a manifest. Move it to spec.snapshots.secretProp",
        ),
        ("{store: /x, interval: 5}", "5 has no unit. Write 5ms or 5s"),
        ("{store: /x, interval: 10ms}", "10ms is out of bounds. Choose between 100ms and 24h"),
        ("{store: /x, retainCount: 0}", "0 is too small. The least is 1"),
        ("{store: /x, retain_age: 1h}", "the key retain_age is not known here. Did you mean retainAge"),
        (
            "{store: s3://x, properties: {secret: geheim}}",
            r"a secret .* manifest. Move it .* secret: {env: SNAPSHOTS_SECRET}",
        ),
        ("{store: s3://x, properties: {key: geheim}}", "a secret must not stand in a manifest"),
        ("{store: s3://x, properties: {sas_token: geheim}}", "a secret must not stand in a manifest"),
        ("{store: s3://x, properties: {endpoint-url: x}}", "'endpoint-url' is no option of a file system"),
        ("{store: s3://x, secretProperties: {secret: geheim}}", "Say where the secret is: {env: NAME} or {file: path}"),
        ("{store: s3://x, secretProperties: {secret: {}}}", "says nothing of where the secret is"),
        ("{store: s3://x, secretProperties: {secret: {env: A, file: b}}}", "env and file exclude each other"),
        (
            "{store: s3://x, properties: {user: a}, secretProperties: {user: {env: A}}}",
            r"secretProperties.user: user is also in spec.snapshots.properties. Keep one of them",
        ),
    ],
)
def test_a_mistake_is_named_with_its_line_and_remedy(write: Writer, text: str, message: str) -> None:
    with pytest.raises(ManifestError, match=rf"flights\.yaml:35: spec\.snapshots.*{message}") as error:
        load(write(section(text)))
    assert "geheim" not in str(error.value)
