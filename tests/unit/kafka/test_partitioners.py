"""The partitioners of producers, as Kafka's and librdkafka's own tests have them."""

from zlib import crc32

import pytest

from tandem.kafka.partitioners import PARTITIONERS, Seen, fitting, murmur2


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_that_of_kafkas_clients(key: bytes, hashed: int) -> None:
    assert murmur2(key) == hashed & 0x7FFFFFFF


def records(name: str, keys: range, partitions: int) -> list[Seen]:
    return [
        Seen(key, PARTITIONERS[name].partition(key, partitions), partitions)
        for key in (b"key-%d" % number for number in keys)
    ]


@pytest.mark.parametrize("name", sorted(PARTITIONERS))
def test_the_partitioner_is_told_by_where_records_are(name: str) -> None:
    seen = [*records(name, range(20), 4), *records(name, range(20, 40), 6)]
    assert [one.name for one in fitting(seen)] == [name]


def test_records_that_are_anywhere_fit_no_partitioner() -> None:
    assert fitting(Seen(b"key-%d" % number, number % 4, 4) for number in range(20)) == ()


def test_no_record_tells_nothing() -> None:
    assert len(fitting([])) == len(PARTITIONERS)


def test_crc32_is_without_a_sign() -> None:
    assert PARTITIONERS["crc32"].partition(b"a", 7) == crc32(b"a") % 7 >= 0
