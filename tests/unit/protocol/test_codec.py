"""Proposals and markers survive their way through Kafka, and nothing else gets in."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.protocol.codec import CodecError, decode_marker, decode_proposal, encode_marker, encode_proposal
from tandem.protocol.values import Config, Cut, Marker, Proposal
from unit.protocol.builders import any_config, any_marker, any_proposal, cut


@given(any_proposal)
def test_a_proposal_comes_back_as_it_was(proposal: Proposal) -> None:
    assert decode_proposal(encode_proposal(proposal)) == proposal


@given(any_marker)
def test_a_marker_comes_back_as_it_was(marker: Marker) -> None:
    assert decode_marker(encode_marker(marker)) == marker


def test_a_cut_reads_like_the_offsets_of_a_kafka_source() -> None:
    assert json.loads(encode_proposal(cut(3, 10, 20)))["ends"] == {"in": {"0": 10, "1": 20}}


def test_a_log_of_an_earlier_version_says_nothing_of_topic_ids() -> None:
    old = b'{"type":"cut","epoch":1,"ends":{"in":{"0":3}},"time":5,"seed":7,"proposer":"a"}'
    proposal = decode_proposal(old)
    assert isinstance(proposal, Cut)
    assert proposal.topic_ids == ()
    assert encode_proposal(proposal) == old


def test_a_log_without_barriers_is_what_earlier_versions_write() -> None:
    old = b'{"type":"config","generation":0,"digest":"c","start":{},"proposer":"a","base":-1,"savepoint":""}'
    config = decode_proposal(old)
    assert isinstance(config, Config)
    assert not config.barriers
    assert encode_proposal(config) == old
    assert json.loads(encode_proposal(replace(config, barriers=True))) == json.loads(old) | {"barriers": True}
    assert b"barrier" not in encode_proposal(cut(3, 10))
    assert json.loads(encode_proposal(replace(cut(3, 10), barrier=True)))["barrier"] is True


def test_a_marker_of_an_earlier_version_says_nothing_of_its_inputs() -> None:
    old = b'{"epoch":1,"attempt":0,"owner":"a","digest":"d","rows":2,"log":3,"generation":0,"config":0}'
    marker = decode_marker(old)
    assert marker.inputs == ""
    assert encode_marker(marker) == old
    assert json.loads(encode_marker(replace(marker, inputs="3:1f"))) == json.loads(old) | {"inputs": "3:1f"}


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"\xff",
        b"null",
        b"[]",
        b"{}",
        b'{"type":"vote"}',
        b'{"type":["cut"]}',
        b'{"type":"cut","epoch":1}',
        b'{"type":"claim","epoch":"x","attempt":0,"owner":"a"}',
        b'{"type":"cut","epoch":1,"ends":{"in":3},"time":0,"seed":0,"proposer":"a"}',
        b'{"type":"cut","epoch":1,"ends":[1],"time":0,"seed":0,"proposer":"a"}',
        b'{"type":"determinant","epoch":1,"name":"q","part":1,"parts":1,"answers":[],"proposer":"a"}',
        b'{"type":"determinant","epoch":1,"name":"q","part":-1,"parts":1,"answers":[],"proposer":"a"}',
        b'{"type":"determinant","epoch":1,"name":"q","part":0,"parts":1,"answers":[3],"proposer":"a"}',
        b'{"type":"determinant","epoch":1,"name":"q","part":0,"parts":1,"answers":null,"proposer":"a"}',
    ],
)
def test_what_is_no_proposal_is_one_clear_error(value: bytes | None) -> None:
    with pytest.raises(CodecError, match=r"^not "):
        decode_proposal(value)


@pytest.mark.parametrize("value", [None, b"[]", b"{}", b'{"epoch":1}', b'{"epoch":null}'])
def test_what_is_no_marker_is_one_clear_error(value: bytes | None) -> None:
    with pytest.raises(CodecError, match=r"^not "):
        decode_marker(value)


@given(
    st.binary(max_size=30)
    | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps).map(str.encode)
)
def test_no_bytes_raise_anything_else(value: bytes) -> None:
    for decode in (decode_proposal, decode_marker):
        with pytest.raises(CodecError):
            decode(value)


@given(config=any_config, lane=st.integers(-1, 3), lanes=st.integers(1, 4), moved=st.booleans())
def test_a_config_of_a_lane_comes_back_as_it_was(config: Config, lane: int, lanes: int, moved: bool) -> None:
    of_lane = replace(config, lane=lane, lanes=lanes, moved=moved)
    assert decode_proposal(encode_proposal(of_lane)) == of_lane
