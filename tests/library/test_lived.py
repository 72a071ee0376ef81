"""What is done to a collection whose texts stay changes no time of arrival and no cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.lived import STEPS, Collection, live


@settings(max_examples=6, deadline=None)
@given(st.booleans(), STEPS)
@example(False, [("loaded", 0), ("scheme", 0), ("moved", 0), ("loaded", 1), ("come", 1), ("spaced", 3)])
@example(True, [("spaced", 4), ("come", 2), ("raised", 4), ("moved", 0), ("scheme", 1), ("touched", 4)])
def test_arrival_and_clusters_stay_while_texts_do(by_batch: bool, steps: Sequence[tuple[str, int]]) -> None:
    with TemporaryDirectory() as folder:
        first = Path(folder) / "first"
        first.mkdir()
        live(Collection(first, by_batch=by_batch), steps)
