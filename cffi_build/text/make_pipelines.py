"""Writes mappings/pipelines/*.json: the Painless sources beside them, and the tables that the simhash script needs.

Run it as `python cffi_build/text/make_pipelines.py`, with the packages of make_unicode_tables.py. A test runs it again
and fails on any difference.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import unicodedata2 as ucd
from make_unicode_tables import (
    CODE_POINTS,
    HANGUL,
    PINNED,
    composition_pairs,
    is_surrogate,
    members,
    nfkc_casefold_mapping,
    word_trie,
)

DIRECTORY = Path(__file__).resolve().parents[2] / "mappings" / "pipelines"
# What lies above is left to `neardup annotate`.
END = 0x20000
BLOCK = 32
# Block numbers are written as ideographs: one character each, and none that an editor could change.
FIRST_NUMBER = 0x4E00
PLAIN, UNASSIGNED, DROPPED, FOLDED, COMPATIBLE, SURROGATE, LOWERED, MARK = 48, 103, 104, 105, 107, 109, 110, 192
# Up to here everything that is replaced stands in the table; further up, what NFKC alone replaces does not.
COMMON = 0x2200
VERSION = 4


class Kinds:
    """For each code point one character (see kindOf in neardup-simhash.painless), and what is replaced by what."""

    def __init__(self) -> None:
        pairs = composition_pairs()
        self.seconds = {second for _, second in pairs} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
        self.ignorable = members(r"\p{Default_Ignorable_Code_Point}")
        self.unassigned = members(r"\p{General_Category=Cn}")
        words = word_trie()
        self.properties = [words.blocks[words.index[code // 64] * 64 + code % 64] for code in CODE_POINTS]
        self.folds: dict[str, str] = {}
        self.symbols = [chr(self.kind(code)) for code in range(END)]
        self.compatible = [code for code in range(END) if ord(self.symbols[code]) in (COMPATIBLE, COMPATIBLE + 1)]
        self.fold_compatible()
        self.check()

    def kind(self, code: int) -> int:
        char = chr(code)
        if is_surrogate(code):
            return SURROGATE
        mapping = char if code in HANGUL else nfkc_casefold_mapping(char, self.ignorable)
        if not mapping:
            return DROPPED
        first = ucd.normalize("NFD", mapping)[0]
        meets = bool(ucd.combining(first)) or ord(first) in self.seconds
        if mapping != char:
            return self.kind_of_replaced(char, mapping, meets)
        if code in self.unassigned and not meets:
            if self.properties[code]:
                sys.exit(f"U+{code:04X} is unassigned and has a property that the script takes for none")
            return UNASSIGNED
        return (MARK if meets else PLAIN) + self.properties[code]

    def kind_of_replaced(self, char: str, mapping: str, meets: bool) -> int:
        if self.has_lower_case(char, mapping) and not meets:
            return LOWERED
        if ucd.normalize("NFKC", char) == char or ord(char) < COMMON:
            self.folds[char] = mapping
            return FOLDED + meets
        return COMPATIBLE + meets

    @staticmethod
    def has_lower_case(char: str, mapping: str) -> bool:
        """Whether it is a capital whose small letter it is replaced by: such pairs are the same in every version."""
        pair = ucd.category(char) == "Lu" and len(mapping) == 1 and ucd.category(mapping) == "Ll"
        return pair and ord(char) < 0x10000 and ucd.normalize("NFKC", char) == char

    def fold_compatible(self) -> None:
        """Put the capitals that NFKC gives into the table too."""
        for char in {c for code in self.compatible for c in ucd.normalize("NFKC", chr(code))}:
            if self.symbol(char) == LOWERED:
                self.folds[char] = nfkc_casefold_mapping(char, self.ignorable)
        self.folds = dict(sorted(self.folds.items()))

    def symbol(self, char: str) -> int:
        return ord(self.symbols[ord(char)]) if ord(char) < END else UNASSIGNED

    def check(self) -> None:
        """The script folds what NFKC gives, character by character; that must be NFKC_Casefold."""
        for code in self.compatible:
            found = "".join(self.folds.get(c, c) for c in ucd.normalize("NFKC", chr(code)))
            if found != nfkc_casefold_mapping(chr(code), self.ignorable):
                sys.exit(f"U+{code:04X}: NFKC and the table do not give its NFKC_Casefold")
        if max(map(ord, self.symbols)) > 255 or any(self.properties[code] > 54 for code in CODE_POINTS):
            sys.exit("the properties have outgrown the characters of the table")

    def tables(self) -> dict[str, Any]:
        blocks: dict[str, int] = {}
        text = "".join(self.symbols)
        index = [blocks.setdefault(text[start : start + BLOCK], len(blocks)) for start in range(0, END, BLOCK)]
        return {
            "index": "".join(chr(FIRST_NUMBER + number) for number in index),
            "blocks": "".join(blocks),
            "folds": self.folds,
        }


def script(*names: str) -> str:
    return "\n".join((DIRECTORY / f"{each}.painless").read_text("utf-8") for each in names)


def pipeline(description: str, source: str, params: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {"lang": "painless", "source": source}
    return {
        "description": f"neardup: {description}",
        "version": VERSION,
        "processors": [{"script": body | ({"params": params} if params else {})}],
        "on_failure": [
            {"remove": {"field": "neardup", "ignore_missing": True, "ignore_failure": True}},
            {"set": {"field": "neardup.pending", "value": "failed", "ignore_failure": True}},
            {
                "set": {
                    "field": "neardup.pending_detail",
                    "value": "{{{_ingest.on_failure_message}}}",
                    "ignore_failure": True,
                }
            },
        ],
    }


def render() -> dict[str, str]:
    """The content of each file, by its name."""
    params = {
        "fields": ["body"],
        "min_tokens": 20,
        "max_characters": 300_000,
        # The rules that are part of a source digest; `neardup setup` puts in those of the store.
        "rules": "simhash-doc\x0018.0.0\x001\x00landmarks\x00auto\x00text\x00\x00\x00",
        "extractor": "plain (utf-8)",
        # What a minhash sketch is made with; `neardup setup` puts it in for a store that has such sketches.
        "sketch": None,
        # The same of passages, and the bytes that a record may have in an index of an owner's.
        "passages": None,
        **Kinds().tables(),
    }
    made = {
        "neardup-keys.json": pipeline(
            "a document that comes with a hash gets the keys and fields that lookups need",
            script("record", "neardup-keys"),
            {},
        ),
        "neardup-simhash.json": pipeline(
            "a document that comes with text gets its simhash-doc fingerprint, sketch and passages, or a mark",
            script("record", "sketch", "passages", "neardup-simhash"),
            params,
        ),
    }
    return {name: json.dumps(body, indent=2, ensure_ascii=False) + "\n" for name, body in made.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the ingest pipelines.")
    parser.add_argument("--output", type=Path, default=DIRECTORY)
    output = parser.parse_args().output
    for package, wanted in PINNED.items():
        if version(package) != wanted:
            sys.exit(f"{package} {version(package)} is installed; these tables are made with {package} {wanted}")
    for name, text in render().items():
        (output / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
