"""The fields that annotations are written to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from indexer.engine.client.lines import WrittenFloat
from indexer.engine.index.bodies import annotation_fields, annotations_of, merged

CLUSTER: dict[str, Any] = {"id": "c", "is_canonical": False, "similarity": 0.75, "repeats": "b"}


def test_a_cluster_that_was_read_stays_in_its_fields() -> None:
    written = annotation_fields({"cluster": CLUSTER}, None)
    read = json.loads(json.dumps(written), parse_float=WrittenFloat)
    marked = annotation_fields(merged(annotations_of(read), {"duplicate_of": "b"}), read["cluster"])
    assert marked == {**written, "duplicate_of": "b"}


@pytest.mark.parametrize("other", [{"similarity": True}, {"is_canonical": 1}, {"distance": 0.5}, {"other": 1}])
def test_what_is_of_another_type_has_no_field(other: dict[str, Any]) -> None:
    fields = annotation_fields({"cluster": {**CLUSTER, **other}}, None)
    assert fields["cluster"]["single"]
    assert json.loads(fields["annotations"]) == {"cluster": {**CLUSTER, **other}}
