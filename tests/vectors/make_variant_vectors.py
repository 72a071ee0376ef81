"""Writes simhash.json, i-match.json, spotsigs.json and passages.json with the slow oracles, from the checkout.

Run as `python -m tests.vectors.make_variant_vectors`.
"""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests import oracle
from tests.schemes import variants_oracle as slow

TEXTS = {
    "empty": "",
    "one word": "word",
    "two words, one of them often": "dog dog cat dog",
    "numbers": "In 2024 the 3rd edition sold 1,000 copies; v2 of 10 sold none.",
    "a sentence of stop-words and others": (
        "At a rally to kick off a weeklong campaign for the South Carolina primary, the candidate tried to set the "
        "record straight from an attack circulating widely on the internet."
    ),
    "the same with a word changed": (
        "At a rally to kick off a weeklong campaign for the South Carolina primary, the senator tried to set the "
        "record straight from an attack circulating widely on the internet."
    ),
    "a spot twice": "the red fox sees the red fox and the red fox sees the hen",
    "Chinese": "人人生而自由，在尊严和权利上一律平等。",
    "Thai": "มนุษย์ทั้งหลายเกิดมามีอิสระ",
    "Hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में",
}
SIMHASHES: tuple[dict[str, Any], ...] = (
    {},
    {"bits": 32},
    {"bits": 128},
    {"features": "shingles", "size": 3, "weights": "set"},
    {"features": "shingles", "size": 2, "weights": "log", "bits": 128},
    {"numbers": "keep"},
    {"numbers": "strip", "weights": "log", "bits": 32},
    {"weights": "tfidf"},
)
IMATCH: dict[str, Any] = {"low": 0.1, "high": 0.9, "drop": 0.33, "sublexicons": 10}
# The stop-words among the words of the texts; the fewer are read from a list, the less a new list can change here.
STOP = {"a", "an", "and", "at", "for", "from", "in", "none", "of", "off", "on", "sees", "the", "to", "tried", "widely"}
SPOTS: tuple[dict[str, Any], ...] = (
    {"antecedents": "a.an.the", "distance": 1, "chain": 2, "bound": 0.5},
    {"antecedents": "the", "distance": 2, "chain": 1, "bound": 0.7},
)
PASSAGES: tuple[dict[str, Any], ...] = (
    {"features": "words", "shingle": 5, "window": 32},
    {"features": "words", "shingle": 3, "window": 4},
    {"features": "letters", "shingle": 12, "window": 64},
    {"features": "letters", "shingle": 6, "window": 8},
)


def simhash(parameters: dict[str, Any], text: str) -> dict[str, Any]:
    weights, size = parameters.get("weights", "occurrence"), parameters.get("size", 1)
    corpus = [Counter(oracle.lookup8(token.encode()) for token in set(oracle.tokens(each))) for each in TEXTS.values()]
    frequency = sum(corpus, Counter[int]())
    counts = Counter(slow.shingles(slow.tokens(text, parameters.get("numbers", "drop")), size))
    weighed = {
        feature: slow.weight(weights, count, len(TEXTS), max(1, frequency[feature]))
        for feature, count in counts.items()
    }
    if not counts:
        return {"payload": None, "keys": []}
    payload = slow.simhash(weighed, parameters.get("bits", 64))
    return {"payload": payload.hex(), "keys": slow.simhash_keys(payload)}


def imatch(parameters: dict[str, Any], text: str) -> dict[str, Any]:
    known = slow.lexicon(list(TEXTS.values()), parameters["low"], parameters["high"])
    digests = slow.imatch(text, known, parameters["drop"], parameters["sublexicons"])
    keys = slow.imatch_keys(digests)
    return {"payload": b"".join(digests).hex() if keys else None, "keys": keys}


def spotsigs(parameters: dict[str, Any], text: str) -> dict[str, Any]:
    antecedents = set(parameters["antecedents"].split("."))
    found = slow.spots(oracle.tokens(text), STOP, antecedents, parameters["distance"], parameters["chain"])
    if not found:
        return {"payload": None, "keys": []}
    numbers = slow.elements(found)
    payload = b"".join(number.to_bytes(8, "big") for number in numbers)
    return {"payload": payload.hex(), "keys": slow.spot_keys(numbers, Fraction(str(parameters["bound"])))}


def passages(parameters: dict[str, Any], text: str) -> dict[str, Any]:
    keys = slow.passage_keys(text, parameters["features"], parameters["shingle"], parameters["window"])
    return {"payload": b"".join(key.to_bytes(5, "big") for key in keys).hex() or None, "keys": keys}


FAMILIES = {
    "simhash": (simhash, SIMHASHES, {"corpus": "the texts, for tf-idf"}),
    "i-match": (imatch, (IMATCH,), {"corpus": "the texts"}),
    "spotsigs": (spotsigs, SPOTS, {"stop_words": sorted(STOP)}),
    "passages": (passages, PASSAGES, {}),
}


def render(family: str) -> str:
    """The file of a family."""
    make, every, about = FAMILIES[family]
    document = {
        "scheme": family,
        "fields": {
            "texts": "the inputs, by name",
            "payload": "the fingerprint's bytes, hexadecimal; null where there is none",
            "keys": "the packed keys: the table's number, then the bits of its key",
        },
        **about,
        "texts": TEXTS,
        "vectors": [
            {"parameters": parameters, "text": name, **make(parameters, text)}
            for parameters in every
            for name, text in TEXTS.items()
        ],
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    for name in FAMILIES:
        Path(__file__).with_name(f"{name}.json").write_text(render(name), encoding="utf-8")
