"""The slots of forms, of frames that were filled."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from indexer.relations.slots import FormSlot, slots_of
from indexer.relations.wording import Wording
from indexer.schemes.testing import document

FRAME = "The invoice number {} of {} is due within thirty days after the goods have arrived. The sum is {} EUR in all."
FILLED = [
    ("17", "Anna Becker", "12.50"),
    ("18", "Luc Moreau", "95.00"),
    ("19", "Eva Novak", "7.25"),
    ("20", "Ida", "1.00"),
]


def test_what_differs_in_nearly_every_text_is_a_slot() -> None:
    frame, *others = (Wording(FRAME.format(*fills)) for fills in FILLED)
    number, name, total = slots_of(frame, others)
    assert number == FormSlot(
        "The invoice number", ("17", "18", "19", "20"), "of Anna Becker is due within thirty days"
    )
    assert name.fills == ("Anna Becker", "Luc Moreau", "Eva Novak", "Ida")
    assert [fill.removesuffix(" EUR") for fill in total.fills] == ["12.50", "95.00", "7.25", "1.00"]


def test_what_one_text_says_otherwise_is_none() -> None:
    frame, *others = (Wording(FRAME.format(*fills)) for fills in FILLED)
    odd = Wording(FRAME.format(*FILLED[1]).replace("thirty", "forty"))
    assert [slot.fills[0] for slot in slots_of(frame, [odd, *others])][:2] == ["17", "Anna Becker"]
    assert len(slots_of(frame, [odd, *others])) == 3


def test_a_slot_may_be_empty() -> None:
    said = "We hereby certify that {}the bearer has passed the course with honours and may call himself so."
    frame, *others = (Wording(said.format(name)) for name in ("", "Anna ", "Luc ", "Eva "))
    [slot] = slots_of(frame, others)
    assert slot.fills == ("", "Anna", "Luc", "Eva")
    assert (slot.before[-4:], slot.after[:10]) == ("that", "the bearer")


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 10**6)), min_size=1, max_size=5), st.integers(2, 6))
def test_slots_of_made_forms_have_their_fills(slots: list[tuple[int, int]], texts: int) -> None:
    """Fills are words that no frame has, so that each is found whole."""
    stretches = [document(seed, 20) for seed in range(len(slots) + 1)]

    def filled(text: int) -> tuple[str, list[str]]:
        fills = [
            " ".join(f"Q{text}x{at}x{seed}x{word}" for word in range(words)) for at, (words, seed) in enumerate(slots)
        ]
        parts = [part for pair in zip(stretches, [*fills, ""], strict=True) for part in pair]
        return " ".join(parts), fills

    made = [filled(text) for text in range(texts)]
    frame, *others = (Wording(text) for text, _ in made)
    found = slots_of(frame, others)
    assert len(found) == len(slots)
    for at, slot in enumerate(found):
        wanted = [fills[at] for _, fills in made]
        assert [fill[:37] for fill in slot.fills] == list(dict.fromkeys(fill[:37] for fill in wanted))
