"""Writes unicode_tables.c: what the C core knows of Unicode, for one pinned version.

Run it as `python cffi_build/text/make_unicode_tables.py`, with exactly the packages named in PINNED installed. A test
runs it again and fails on any difference. `regex` carries the case folding and the properties, `unicodedata2` the
decompositions and combining classes, both of the same Unicode version.
"""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import version
from pathlib import Path

import regex
import unicodedata2 as ucd

UNICODE_VERSION = "18.0.0"
PINNED = {"regex": "2026.11.15", "unicodedata2": UNICODE_VERSION}
OUTPUT = Path(__file__).with_name("unicode_tables.c")

CODE_POINTS = range(0x110000)
BLOCK = 64

# The order is that of the enumeration in unicode_tables.h.
WORD_BREAK_CLASSES = (
    ("Other",),
    ("CR", "LF", "Newline"),
    ("Extend", "Format", "ZWJ"),
    ("ALetter",),
    ("Hebrew_Letter",),
    ("Numeric",),
    ("Katakana",),
    ("ExtendNumLet",),
    ("MidLetter",),
    ("MidNum",),
    ("MidNumLet",),
    ("Single_Quote",),
    ("Double_Quote",),
)
KEPT_CATEGORIES = ("Ll", "Lu", "Lt", "Lo", "Lm", "Mn", "Mc", "Nd", "Pc")
KEPT, ALPHABETIC = 0x10, 0x20
FLAG_SELF, FLAG_BOUNDARY, FLAG_NEVER_COMPOSES, FLAG_EXACT = 1, 2, 4, 8
# The small letters that case folding does not tell.
SMALL = {"\u1e9e": "\xdf", "\u0130": "i\u0307"}

HANGUL = range(0xAC00, 0xAC00 + 11172)
FULL_CASE_FOLDING = int(regex.FULLCASE | regex.IGNORECASE | regex.UNICODE)


def is_surrogate(code: int) -> bool:
    return 0xD800 <= code < 0xE000


def members(pattern: str) -> set[int]:
    """The code points that a one-character pattern matches."""
    everything = "".join(chr(code) for code in CODE_POINTS if not is_surrogate(code))
    return {ord(match.group()) for match in regex.finditer(pattern, everything)}


def casefold(text: str) -> str:
    """Full case folding (CaseFolding.txt, status C and F)."""
    # `regex` keeps all forms of i apart, for the sake of Turkish (status T); the standard's default does not.
    return str(regex._regex.fold_case(FULL_CASE_FOLDING, text)).replace("I", "i").replace("\u0130", "i\u0307")


def nfkc_casefold_mapping(char: str, ignorable: set[int]) -> str:
    """NFKC_Casefold of one character: the three operations until nothing changes (UAX 44, NFKC_Casefold)."""
    text = char
    while True:
        kept = "".join(c for c in text if ord(c) not in ignorable)
        changed = ucd.normalize("NFKC", casefold(ucd.normalize("NFKC", kept)))
        if changed == text:
            return text
        text = changed


class Trie:
    """A two-stage table of blocks of 64 code points, equal blocks stored once."""

    def __init__(self, values: list[int]) -> None:
        self.index: list[int] = []
        self.blocks: list[int] = []
        seen: dict[tuple[int, ...], int] = {}
        for start in range(0, len(values), BLOCK):
            block = tuple(values[start : start + BLOCK])
            if block not in seen:
                seen[block] = len(self.blocks) // BLOCK
                self.blocks.extend(block)
            self.index.append(seen[block])

    def block(self, number: int) -> list[int]:
        """The values of the code points from 64 * number on."""
        start = self.index[number] * BLOCK
        return self.blocks[start : start + BLOCK]


def word_trie() -> Trie:
    values = [0] * len(CODE_POINTS)
    for number, names in enumerate(WORD_BREAK_CLASSES):
        if number == 0:
            continue
        for name in names:
            for code in members(rf"\p{{Word_Break={name}}}"):
                values[code] = number
    kept = set().union(*(members(rf"\p{{General_Category={name}}}") for name in KEPT_CATEGORIES))
    for code in kept:
        # The C core leaves out the rules that only place a boundary beside one of these, for it cuts there anyway.
        if WORD_BREAK_CLASSES[values[code]][0] in {
            "CR",
            "MidLetter",
            "MidNum",
            "MidNumLet",
            "Single_Quote",
            "Double_Quote",
        }:
            sys.exit(f"U+{code:04X} is kept and of a class that tokenise.c takes for never kept")
        values[code] |= KEPT
    if {code for code in kept if values[code] == WORD_BREAK_CLASSES.index(("Numeric",)) | KEPT} != members(r"\p{Nd}"):
        sys.exit("kept characters of the class Numeric are not the decimal digits; change tokenise.c and features.c")
    for code in members(r"\p{Alphabetic}"):
        values[code] |= ALPHABETIC
    require_alike(values, KEPT | ALPHABETIC)
    return Trie(values)


def require_alike(values: list[int], wanted: int) -> None:
    """The C core looks none of the ideographs U+4000 to U+9FFF up, the bytes E4 B7 in front aside."""
    if set(values[0x4000:0x4DC0] + values[0x4E00:0xA000]) != {wanted}:
        sys.exit("not all of U+4000 to U+9FFF are alike; change nd_is_common_han in internal.h")


def letters_of_two_bytes(words: Trie) -> list[int]:
    """For each first byte C0 to DF, as bits by the lower six of the second: letters of ALetter and Hebrew_Letter."""
    classes = [WORD_BREAK_CLASSES.index((name,)) | KEPT | ALPHABETIC for name in ("ALetter", "Hebrew_Letter")]
    return [sum(1 << bit for bit, value in enumerate(words.block(lead)) if value in classes) for lead in range(32)]


def composition_pairs() -> dict[tuple[int, int], int]:
    """The primary composites with the pairs that they are composed of; Hangul is arithmetic and not among them."""
    pairs = {}
    for code in CODE_POINTS:
        parts = ucd.decomposition(chr(code)).split() if not is_surrogate(code) and code not in HANGUL else []
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, second = (int(part, 16) for part in parts)
            if ucd.normalize("NFC", chr(first) + chr(second)) == chr(code):
                pairs[first, second] = code
    return pairs


class SmallLetters:
    """The code points whose small letters, decomposed canonically, are not those of toNFKC_Casefold, in runs.

    A run has its first and last code point; one number that makes each the other, and 0; or the place of its letters
    and how many; and their class.
    """

    def __init__(self, ignorable: set[int]) -> None:
        self.letters: list[int] = []
        self.runs: list[tuple[int, int, int, int, int]] = []
        self.inside: set[int] = set()
        self.capital = members(r"\p{Changes_When_Lowercased}")
        for code in CODE_POINTS:
            if is_surrogate(code) or code in HANGUL or code in ignorable:
                continue
            exact = ucd.normalize("NFD", "".join(map(self.small, ucd.normalize("NFD", chr(code)))))
            if exact != ucd.normalize("NFD", nfkc_casefold_mapping(chr(code), ignorable)):
                self.inside.add(code)
                self.add(code, exact)

    def small(self, char: str) -> str:
        if ord(char) not in self.capital:
            return char
        folded = casefold(char)
        # Cherokee folds to its capitals, which this Python knows.
        return SMALL.get(char) or (folded if folded != char and len(folded) == 1 else char.lower())

    def add(self, code: int, exact: str) -> None:
        first, letter_class = code, ucd.combining(exact[0])
        rest = (ord(exact[0]) - code, 0, letter_class)
        if len(exact) > 1:
            rest = (len(self.letters), len(exact), letter_class)
            self.letters.extend(map(ord, exact))
        elif self.runs and self.runs[-1][1:] == (code - 1, *rest):
            first = self.runs.pop()[0]
        self.runs.append((first, code, *rest))


class Normalisation:
    """For each code point what toNFKC_Casefold makes of it, and how that meets its neighbours."""

    def __init__(self) -> None:
        self.pairs = composition_pairs()
        seconds = {second for _, second in self.pairs} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
        ignorable = members(r"\p{Default_Ignorable_Code_Point}")
        self.small = SmallLetters(ignorable)
        self.mapped = bytearray()
        self.decomposed: list[int] = []
        self.records: list[tuple[int, ...]] = [(0, 0, 0, 0, 0, 0, 0)]
        seen: dict[tuple[object, ...], int] = {}
        values = [0] * len(CODE_POINTS)
        for code in CODE_POINTS:
            if is_surrogate(code) or code in HANGUL:
                continue
            char = chr(code)
            mapping = nfkc_casefold_mapping(char, ignorable)
            decomposition = ucd.normalize("NFD", mapping)
            first = ord(decomposition[0]) if mapping else None
            boundary = first is not None and not ucd.combining(decomposition[0]) and first not in seconds
            flags = (
                (FLAG_SELF if mapping == char else 0)
                | (FLAG_BOUNDARY if boundary else 0)
                | (FLAG_EXACT if code in self.small.inside else 0)
                | (FLAG_NEVER_COMPOSES if mapping and not seconds & {ord(c) for c in decomposition} else 0)
            )
            if mapping == char == decomposition and boundary and not flags & FLAG_EXACT:
                continue
            first_class = ucd.combining(mapping[0]) if mapping else 0
            last_class = ucd.combining(mapping[-1]) if mapping else 0
            key = (mapping, flags)
            if key not in seen:
                seen[key] = len(self.records)
                self.records.append(
                    (*self.add_mapped(mapping), *self.add_decomposed(decomposition), first_class, last_class, flags)
                )
            values[code] = seen[key]
        require_alike(values, 0)
        self.values = values
        self.mapped += bytes(8)  # the C core copies eight bytes at a time
        self.trie = Trie(values)

    def pairs_of_bytes(self) -> list[int]:
        """For each code point of two bytes what it becomes, low byte first, if that has two and meets nothing."""
        found = [0] * 0x800
        for code in range(0x80, 0x800):
            at, length, _, _, _, last_class, flags = self.records[self.values[code]]
            mapping = bytes(self.mapped[at : at + length]) if self.values[code] else chr(code).encode()
            if self.values[code] == 0 or (flags & FLAG_BOUNDARY and last_class == 0 and len(mapping) == 2):
                found[code] = int.from_bytes(mapping, "little")
        return found

    def add_mapped(self, mapping: str) -> tuple[int, int]:
        encoded = mapping.encode()
        at = self.mapped.find(encoded)
        if at < 0:
            at = len(self.mapped)
            self.mapped += encoded
        return at, len(encoded)

    def add_decomposed(self, decomposition: str) -> tuple[int, int]:
        at = len(self.decomposed)
        self.decomposed.extend(map(ord, decomposition))
        return at, len(decomposition)


def array(declaration: str, numbers: list[str]) -> str:
    lines, line = [f"{declaration} = {{"], ""
    for number in numbers:
        if len(line) + len(number) + 2 > 118:
            lines.append(" " + line)
            line = ""
        line += f" {number},"
    lines += [" " + line, "};", ""]
    return "\n".join(lines)


def numbers(values: list[int] | bytearray) -> list[str]:
    return [str(value) for value in values]


def render() -> str:
    words, normalisation = word_trie(), Normalisation()
    trie = normalisation.trie
    if max(trie.index) >= 1 << 16 or len(normalisation.records) >= 1 << 16 or max(words.index) >= 1 << 16:
        sys.exit("a table has outgrown its type; widen it in unicode_tables.h")
    records = ["{" + ", ".join(map(str, record)) + "}" for record in normalisation.records]
    runs = ["{" + ", ".join(map(str, run)) + "}" for run in normalisation.small.runs]
    letters = numbers(normalisation.small.letters)
    pairs = [f"{{{a}, {b}, {c}}}" for (a, b), c in sorted(normalisation.pairs.items())]
    return "\n".join(
        [
            f"/* Unicode {UNICODE_VERSION}. Written by make_unicode_tables.py; change that, never this. */",
            "",
            '#include "unicode_tables.h"',
            "",
            f'const char nd_unicode_version_text[] = "{UNICODE_VERSION}";',
            "",
            array("const uint16_t nd_word_index[ND_TRIE_INDEX]", numbers(words.index)),
            array(f"const uint8_t nd_word_blocks[{len(words.blocks)}]", numbers(words.blocks)),
            array("const uint64_t nd_letter_pairs[32]", [f"0x{bits:X}u" for bits in letters_of_two_bytes(words)]),
            array("const uint16_t nd_normal_index[ND_TRIE_INDEX]", numbers(trie.index)),
            array(f"const uint16_t nd_normal_blocks[{len(trie.blocks)}]", numbers(trie.blocks)),
            array("const uint16_t nd_normal_pairs[0x800]", numbers(normalisation.pairs_of_bytes())),
            array(f"const nd_normal_record nd_normal_records[{len(records)}]", records),
            array(f"const uint8_t nd_mapped[{len(normalisation.mapped)}]", numbers(normalisation.mapped)),
            array(f"const uint32_t nd_decomposed[{len(normalisation.decomposed)}]", numbers(normalisation.decomposed)),
            f"const size_t nd_composition_count = {len(pairs)};",
            array(f"const nd_composition nd_compositions[{len(pairs)}]", pairs),
            f"const size_t nd_small_count = {len(normalisation.small.runs)};",
            array(f"const nd_small nd_smalls[{len(normalisation.small.runs)}]", runs),
            array(f"const uint32_t nd_small_letters[{len(normalisation.small.letters)}]", letters),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the Unicode tables of the C core.")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    output = parser.parse_args().output
    for package, wanted in PINNED.items():
        if version(package) != wanted:
            sys.exit(f"{package} {version(package)} is installed; these tables are made with {package} {wanted}")
    output.write_text(render(), encoding="ascii")


if __name__ == "__main__":
    main()
