"""The fields that annotations are written to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from indexer.engine.client.base import WrittenFloat
from indexer.engine.index.bodies import annotation_fields, annotations_of, merged
from indexer.model import Ref, naming, own_cluster_id

CLUSTER: dict[str, Any] = {"id": "c", "is_canonical": False, "similarity": 0.75, "repeats": "b"}


def test_a_cluster_that_was_read_stays_in_its_fields() -> None:
    written = annotation_fields(Ref("a"), {"cluster": CLUSTER}, None)
    read = json.loads(json.dumps(written), parse_float=WrittenFloat)
    marked = annotation_fields(Ref("a"), merged(annotations_of(read), {"duplicate_of": "b"}), read["cluster"])
    assert marked == {**written, "duplicate_of": "b"}


@pytest.mark.parametrize("other", [{"similarity": True}, {"is_canonical": 1}, {"distance": 0.5}, {"other": 1}])
def test_what_is_of_another_type_has_no_field(other: dict[str, Any]) -> None:
    fields = annotation_fields(Ref("a"), {"cluster": {**CLUSTER, **other}}, None)
    assert fields["cluster"]["single"]
    assert json.loads(fields["annotations"]) == {"cluster": {**CLUSTER, **other}}


@pytest.mark.parametrize(
    ("relation", "copies", "work"),
    [
        ("reflowed", "b", "b"),
        ("rendition", "a", "b"),
        ("form", "a", "a"),
        ("edited", "a", "a"),
        ("unverified", "a", "a"),
    ],
)
def test_only_what_may_go_has_the_copies_id_of_another_one(relation: str, copies: str, work: str) -> None:
    fields = annotation_fields(Ref("a"), {"cluster": {**CLUSTER, "relation": relation}}, None)["cluster"]
    assert (fields["copies_id"], fields["work_id"]) == (own_cluster_id(Ref(copies)), own_cluster_id(Ref(work)))


def test_a_document_goes_for_another_one_than_it_repeats_also_in_another_index() -> None:
    other = naming("relation_to", Ref("a", "x"), Ref("b", "y", "r"))
    fields = annotation_fields(Ref("a", "x"), {"cluster": {**CLUSTER, "relation": "identical", **other}}, None)
    assert fields["cluster"]["copies_id"] == own_cluster_id(Ref("b", "y", "r"))
    assert annotations_of(fields)["cluster"] == {**CLUSTER, "relation": "identical", **other}


def test_a_copy_of_a_rendition_belongs_to_its_work() -> None:
    cluster = {**CLUSTER, "relation": "identical", "relation_to": "d", "work": "b"}
    fields = annotation_fields(Ref("a"), {"cluster": cluster}, None)["cluster"]
    assert (fields["copies_id"], fields["work_id"]) == (own_cluster_id(Ref("d")), own_cluster_id(Ref("b")))


def test_a_document_without_a_cluster_has_ids_of_its_own() -> None:
    one, other = (annotation_fields(Ref("a"), {}, None)["cluster"] for _ in range(2))
    assert one["id"] == one["copies_id"] == one["work_id"] != other["copies_id"]
