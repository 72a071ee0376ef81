"""Writes the vectors of short-text, with the scheme: what a store has must be what a later version makes.

Run as `python -m tests.vectors.make_short_vectors`, from the checkout, for a scheme of another name alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from indexer.schemes.registry import scheme

IDENTIFIERS = ("short-text:words=100", "short-text:words=8")
REFERENCE = "a headline"
TEXTS = {
    "empty": "",
    "no word": " + = … !?",
    "one word": "Bridge",
    "two words": "bridge closes",
    REFERENCE: "Ancient bridge closes after the storm of 2019",
    "the same in another case": "ANCIENT BRIDGE closes, after the storm of 2019!",
    "a word changed": "Ancient bridge opens after the storm of 2019",
    "a word misspelt": "Ancient brigde closes after the storm of 2019",
    "words swapped": "Ancient closes bridge after the storm of 2019",
    "a word cut": "Ancient bridge closes after storm of 2019",
    "another number": "Ancient bridge closes after the storm of 2018",
    "a negation": "Ancient bridge not closes after the storm of 2019",
    "a name": "Ancient Rialto closes after the storm of 2019",
    "a product": "Zonda running shoe, black, 42",
    "the product in another size": "Zonda running shoe, black, 43",
    "a measure": "Lumina shampoo 250 ml",
    "a measure written otherwise": "Lumina shampoo 250ml",
    "the same word twice": "no no never",
    "nine words": "the minister announces a new budget for the schools",
    "ten words": "the old minister announces a new budget for the schools",
    "French": "Le ministère ferme l'école près du théâtre",
    "German": "Das Gericht verwirft die Klage über den Haushalt",
    "Spanish": "El tribunal rechaza la elección del año 2020",
    "Chinese": "法院拒绝批准大桥预算",
    "Arabic": "المحكمة ترفض الميزانية ٢٠١٩",
    "half a surrogate pair": "bridge \udc80 closes",
    "more than a hundred words": " ".join(f"word{number}" for number in range(101)),
}
FIELDS = {
    "texts": "the inputs, by name",
    "words": "how many words the text has; 0 without a sketch",
    "payload": "the sketch's bytes, as text; null where there is none",
    "keys": "the keys, sorted, hexadecimal",
    "similarities": f"of each text's sketch to that of '{REFERENCE}', to six decimal places; null without a sketch",
}


def document(identifier: str) -> dict[str, Any]:
    """The vectors of the scheme with some parameters."""
    made = scheme(identifier)
    reference = made.sketch(TEXTS[REFERENCE])
    assert reference
    vectors, similarities = dict[str, Any](), dict[str, float | None]()
    for name, text in TEXTS.items():
        sketch = made.sketch(text)
        vectors[name] = {
            "words": sketch.features if sketch else 0,
            "payload": sketch.payload.decode() if sketch else None,
            "keys": [f"{key:010x}" for key in sketch.keys] if sketch else [],
        }
        near = made.similarities(reference.payload, [sketch.payload])[0] if sketch else None
        similarities[name] = None if near is None else round(float(near), 6)
    return {"id": made.id, "vectors": vectors, "similarities": similarities}


def render() -> str:
    """The file."""
    written = {
        "scheme": "short-text",
        "unicode": "18.0.0",
        "fields": FIELDS,
        "texts": TEXTS,
        "documents": list(map(document, IDENTIFIERS)),
    }
    return json.dumps(written, indent=1) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("short-text.json").write_text(render(), encoding="ascii")
