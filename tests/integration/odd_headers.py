"""A record with a header whose name is any bytes, which clients for Python cannot send."""

from __future__ import annotations

import ctypes
from pathlib import Path

import confluent_kafka

_PRODUCER, _COPY, _OK = 0, 2, 0
_END, _TOPIC, _VALUE, _FLAGS, _HEADER = 0, 1, 4, 7, 9
"""Of librdkafka's `rd_kafka_vtype_t`."""


def produce(bootstrap: str, topic: str, name: bytes) -> None:
    """A record with one header, through librdkafka itself."""
    (path,) = Path(confluent_kafka.__file__).parents[1].glob("confluent_kafka.libs/librdkafka*")
    library = ctypes.CDLL(str(path))
    for function in (library.rd_kafka_conf_new, library.rd_kafka_new):
        function.restype = ctypes.c_void_p
    error = ctypes.create_string_buffer(512)
    conf = ctypes.c_void_p(library.rd_kafka_conf_new())
    assert library.rd_kafka_conf_set(conf, b"bootstrap.servers", bootstrap.encode(), error, 512) == _OK
    producer = ctypes.c_void_p(library.rd_kafka_new(_PRODUCER, conf, error, 512))
    assert producer, error.value
    fields = [_TOPIC, ctypes.c_char_p(topic.encode()), _VALUE, ctypes.c_char_p(b"v"), ctypes.c_size_t(1)]
    fields += [_HEADER, ctypes.c_char_p(name), ctypes.c_char_p(b"x"), ctypes.c_ssize_t(1), _FLAGS, _COPY, _END]
    assert library.rd_kafka_producev(producer, *fields) == _OK
    assert library.rd_kafka_flush(producer, 30_000) == _OK
    library.rd_kafka_destroy(producer)
