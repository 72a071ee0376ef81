"""The declared forms of requests: what is read fits them, and what does not is refused with a sentence."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import UsageError
from indexer.service.schemas import answer_schema, read_form, request_schema
from indexer.service.verbs import VERBS

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
_NAMES = st.sampled_from(["documents", "hits", "texts", "a", "b", "text", "id", "match", "limit", "at_least"])
_NEARLY = st.recursive(_JSON, lambda inner: st.dictionaries(_NAMES, inner, max_size=4) | st.lists(inner, max_size=2))


@given(st.sampled_from(sorted(VERBS)), st.dictionaries(_NAMES, _NEARLY, max_size=4) | _JSON)
def test_what_is_read_fits_and_all_else_is_refused(verb: str, given: Any) -> None:
    kind = VERBS[verb].request
    # Any other error is a failure of this test.
    with contextlib.suppress(UsageError):
        made = read_form(kind, given)
        assert isinstance(made, kind)
        assert set(given) <= set(request_schema(kind)["properties"])


@pytest.mark.parametrize("verb", VERBS)
def test_every_member_is_explained(verb: str) -> None:
    request, answer = request_schema(VERBS[verb].request), answer_schema(VERBS[verb].answer)
    assert all(member["description"] for member in (*request["properties"].values(), *answer["properties"].values()))
    assert request["required"]
