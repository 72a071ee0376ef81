"""Frame: lines at the head and the foot of a text that stand around many other documents too."""

from __future__ import annotations

import pytest

from indexer.relations.comparing import relate
from indexer.relations.frame import frame_bounds, line_hashes
from indexer.relations.lexicon import Lexicon
from indexer.relations.wording import Wording
from tests.cli.written import prose

HEAD, FOOT = "The county lending library\nBooks and maps\n\n", "\n\nOpening hours and places"
TEXT = f"{prose(1, 40).capitalize()}. {prose(2, 40).capitalize()}."


def lexicon(documents: int, around: str = HEAD + "{}" + FOOT) -> Lexicon:
    """The words and lines of so many documents, each a cluster, that have the same lines around them."""
    made = Lexicon()
    for seed in range(10, 10 + documents):
        made.add([line_hashes(Wording(around.format(f"{prose(seed, 40).capitalize()}.")))])
    return made


@pytest.mark.parametrize(("documents", "word"), [(2, "edited"), (40, "reflowed")])
def test_lines_around_many_documents_may_be_missing(documents: int, word: str) -> None:
    known = lexicon(documents)
    relation = relate(Wording(HEAD + TEXT + FOOT), Wording(TEXT), known)
    assert relation.word == word
    assert relation.cleaner == ("right" if word == "reflowed" else "")


def test_without_words_of_a_collection_and_on_arrival_nothing_is_frame() -> None:
    framed, known = Wording(HEAD + TEXT + FOOT), lexicon(40)
    assert frame_bounds(framed, None) == (0, len(framed))
    head, foot = frame_bounds(framed, known)
    assert 0 < head < foot < len(framed)
    known.frames = False
    assert frame_bounds(framed, known) == (0, len(framed))


def test_a_line_with_a_sentence_end_or_inside_of_the_text_is_no_frame() -> None:
    warning = "Not for children under three.\n\n"
    known = lexicon(40, warning + "{}" + FOOT)
    assert relate(Wording(warning + TEXT), Wording(TEXT), known).word == "edited"
    inside = f"{TEXT}\n\n{FOOT.strip()}\n\n{prose(3, 40).capitalize()}."
    assert relate(Wording(inside), Wording(inside.replace(FOOT.strip(), "")), known).word == "edited"
