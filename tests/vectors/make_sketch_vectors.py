"""Writes the vectors of minhash, weighted-minhash, supershingles and random-projection with the slow oracles.

Run as `python -m tests.vectors.make_sketch_vectors`, from the checkout.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.schemes import oracle_minwise as minwise
from tests.schemes import oracle_projection as projected
from tests.schemes import oracle_weighted as weighted

Parameters = dict[str, Any]

PARAGRAPH = (
    "The keeper of the lighthouse wrote down every ship that passed, the hour, the weather and the colour of sails. "
    "When he was old he gave the books to the harbour, where nobody opened them for sixty years. "
    "Then a clerk who looked for a lost cargo found that the keeper had drawn, on every last page, the ship he saw."
)

TEXTS = {
    "empty": "",
    "no word": " 12 + 34 = 46 … !?",
    "one word": "word",
    "four words, fewer than a shingle has": "dog dog cat dog",
    "five words": "the dog and the cat",
    "numbers among words": "Invoice 12 of 2024: 3 boxes at 4,50 each, 13.50 in all, to account ٣٤٥ by 1/2/2025",
    "a paragraph": PARAGRAPH,
    "the same with a word changed": PARAGRAPH.replace("sixty", "seventy"),
    "the same with the sentences in another order": " ".join(reversed(PARAGRAPH.split(". "))),
    "the same twice": f"{PARAGRAPH} {PARAGRAPH}",
    "Chinese": "人人生而自由，在尊严和权利上一律平等。",
    "Hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में",
}

FIELDS = {
    "texts": "the inputs, by name",
    "id": "the scheme with its parameters",
    "features": "how many different features the text has (random-projection: how many tokens); 0 without a sketch",
    "signature": "the values before they are cut to b bits, 8 hexadecimal digits each (not of random-projection)",
    "payload": "the sketch's bytes, hexadecimal; null where there is none",
    "keys": "the key of each table, from table 0 on, hexadecimal",
    "similarities": "of each text's sketch to that of 'a paragraph', to six decimal places; null without a sketch",
}


def banded(
    signature: Callable[[str, Parameters], tuple[list[int], int]], bands: Callable[[Parameters], tuple[int, int]]
) -> Callable[[str, Parameters], dict[str, Any]]:
    """The vector of a scheme whose signature is stored in b bits, its bands hashed."""

    def vector(text: str, chosen: Parameters) -> dict[str, Any]:
        values, features = signature(text, chosen)
        keys = minwise.band_keys(values, *bands(chosen))
        return {
            "features": features,
            "signature": "".join(f"{value:08x}" for value in values),
            "payload": minwise.pack(values, chosen["bits"]).hex(),
            "keys": [f"{key:08x}" for key in keys],
        }

    return vector


def minima(text: str, chosen: Parameters) -> tuple[list[int], int]:
    shingles = minwise.shingle_hashes(text, chosen["shingle"])
    return minwise.minhash(shingles, chosen["values"]), len(set(shingles))


def minhash(text: str, chosen: Parameters) -> dict[str, Any]:
    shingles = minwise.shingle_hashes(text, chosen["shingle"], numbers=chosen["numbers"] == "keep")
    values = minwise.fast_minhash(shingles, chosen["values"])
    return {
        "features": len(set(shingles)),
        "signature": "".join(f"{value:08x}" for value in values),
        "payload": minwise.pack(values, chosen["bits"], 1).hex(),
        "keys": [f"{key:08x}" for key in minwise.band_keys(values, *by_bands(chosen))],
    }


def samples(text: str, chosen: Parameters) -> tuple[list[int], int]:
    weights = weighted.weights(text, chosen["shingle"])
    return weighted.weighted_minhash(weights, chosen["values"]), len(weights)


def projection(text: str, chosen: Parameters) -> dict[str, Any]:
    tokens = minwise.token_hashes(text)
    bits = projected.projection(tokens, chosen["bits"])
    digits = (chosen["block"] + 3) // 4
    return {
        "features": len(tokens),
        "payload": projected.payload(bits).hex(),
        "keys": [f"{key:0{digits}x}" for key in projected.keys(bits, chosen["block"])],
    }


def by_bands(chosen: Parameters) -> tuple[int, int]:
    return chosen["bands"], chosen["rows"]


def by_groups(chosen: Parameters) -> tuple[int, int]:
    return chosen["groups"], chosen["values"] // chosen["groups"]


VECTORS: dict[str, Callable[[str, Parameters], dict[str, Any]]] = {
    "minhash": minhash,
    "weighted-minhash": banded(samples, by_bands),
    "supershingles": banded(minima, by_groups),
    "random-projection": projection,
}
PARAMETERS: dict[str, tuple[Parameters, ...]] = {
    "minhash": (
        {"shingle": 5, "values": 1024, "bands": 16, "rows": 4, "bits": 1, "numbers": "keep"},
        {"shingle": 2, "values": 64, "bands": 7, "rows": 3, "bits": 2, "numbers": "drop"},
        {"shingle": 1, "values": 16, "bands": 2, "rows": 5, "bits": 16, "numbers": "keep"},
    ),
    "weighted-minhash": (
        {"shingle": 1, "values": 128, "bands": 18, "rows": 7, "bits": 8},
        {"shingle": 2, "values": 15, "bands": 5, "rows": 3, "bits": 4},
    ),
    "supershingles": ({"shingle": 5, "values": 84, "groups": 6, "agreeing": 2, "bits": 8},),
    "random-projection": ({"bits": 256, "block": 32}, {"bits": 128, "block": 20}),
}


def similarity(family: str, one: str, other: str, chosen: Parameters) -> float:
    left, right = bytes.fromhex(one), bytes.fromhex(other)
    if family == "random-projection":
        return projected.similarity(left, right)
    return minwise.similarity(left, right, chosen["values"], chosen["bits"])


def document(family: str, chosen: Parameters) -> dict[str, Any]:
    written = ",".join(f"{name}={value}" for name, value in sorted(chosen.items()))
    vectors: dict[str, dict[str, Any]] = {}
    for name, text in TEXTS.items():
        if minwise.token_hashes(text, numbers=chosen.get("numbers") == "keep"):
            vectors[name] = VECTORS[family](text, chosen)
        else:
            vectors[name] = {"features": 0, "payload": None, "keys": []}
    reference = vectors["a paragraph"]["payload"]
    similarities = {
        name: vector["payload"] and round(similarity(family, reference, vector["payload"], chosen), 6)
        for name, vector in vectors.items()
    }
    return {"id": f"{family}:{written}", "vectors": vectors, "similarities": similarities}


def render(family: str) -> str:
    written = {
        "scheme": family,
        "unicode": "18.0.0",
        "fields": FIELDS,
        "texts": TEXTS,
        "documents": [document(family, chosen) for chosen in PARAMETERS[family]],
    }
    return json.dumps(written, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    for name in VECTORS:
        Path(__file__).with_name(f"{name}.json").write_text(render(name), encoding="utf-8")
