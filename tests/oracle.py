"""simhash-doc written slowly and plainly, rule by rule, to hold the C core against.

It needs `regex` and `unicodedata2` of the core's Unicode version, and shares nothing with the core.
"""

from __future__ import annotations

from functools import cache, lru_cache

import regex
import unicodedata2 as ucd

MASK = (1 << 64) - 1
ALNUM = "[a-z0-9]"
URI = r"[a-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]"
ATOM = r"[a-z0-9.!#$%&'*+/=?^_`{|}~\-]"
NAMES = "doi|hdl|urn|arxiv|isbn|issn|pmid|pmcid|orcid|mailto|ark|swh|oai"


@cache
def mapping(char: str) -> str:
    """NFKC_Casefold of one character: compatibility, case and ignorables, again until nothing changes."""
    before, text = None, char
    while before != text:
        before = text
        text = regex.sub(r"\p{Default_Ignorable_Code_Point}", "", text)
        text = ucd.normalize("NFKC", text)
        text = "".join(folded(c) for c in text)
        text = ucd.normalize("NFKC", text)
    return text


@cache
def folded(char: str) -> str:
    if char == "I":
        return "i"
    if char == "\u0130":
        return "i\u0307"
    return str(regex._regex.fold_case(int(regex.FULLCASE | regex.IGNORECASE | regex.UNICODE), char))


def normalise(text: str) -> str:
    """toNFKC_Casefold: each character mapped, the whole composed."""
    return ucd.normalize("NFC", "".join(mapping(c) for c in text))


LEFT_OUT = regex.compile(r"[[\p{Mn}&&[\u0590-\u06ff\u0700-\u074f\u0870-\u08ff]]\u0640]", flags=regex.VERSION1)
ONE_FORM = str.maketrans({**dict.fromkeys("آأإٱ", "ا"), **dict.fromkeys("ىی", "ي"), **dict.fromkeys("کڪ", "ك")}) | {
    0x6F0 + digit: 0x660 + digit for digit in range(10)
}


def without_marks(text: str) -> str:
    """Normalised, without marks that Arabic, Hebrew and Syriac may leave out, and in one form of some letters."""
    return LEFT_OUT.sub("", normalise(text)).translate(ONE_FORM)


def identifier_at(text: str, mark: int) -> tuple[int, int] | None:
    """The span of the identifier that the mark at this position belongs to."""
    left, right = text[max(0, mark - 2000) : mark], text[mark:]
    if text[mark] == ":":
        before = regex.search(r"(?<![a-z0-9+.\-])[a-z0-9+.\-]*\Z", left)
        scheme = regex.search(r"(?s)[a-z].*\Z", before.group()) if before else None
        after = regex.match(rf"://{URI}+", right)
        if after:
            return (mark - len(scheme.group()), mark + after.end()) if scheme else None
        name = regex.search(rf"(?<!{ALNUM})(?:{NAMES})\Z", left)
        after = regex.match(rf":{URI}+", right)
        return (mark - len(name.group()), mark + after.end()) if name and after else None
    if text[mark] == ".":
        if regex.search(rf"(?<!{ALNUM})www\Z", left) and (after := regex.match(rf"\.{ALNUM}{URI}*", right)):
            return mark - 3, mark + after.end()
        if regex.search(r"(?<![a-z0-9.])10\Z", left) and (
            after := regex.match(rf"\.[0-9]{{4,9}}(?![0-9])(?:\.[0-9]+)*/{URI}+", right)
        ):
            return mark - 2, mark + after.end()
        return None
    if text[mark] == "@":
        before = regex.search(rf"(?r){ATOM}+\Z", text[:mark])
        after = regex.match(rf"@(?={ALNUM})[a-z0-9.\-]*?\.(?={ALNUM})[a-z0-9.\-]*", right)
        return (mark - len(before.group()), mark + after.end()) if before and after else None
    for length, shape in (
        (8, r"-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
        (4, r"-[0-9]{4}-[0-9]{4}-[0-9]{3}[0-9x]"),
    ):
        digits = "[0-9a-f]" if length == 8 else "[0-9]"
        before = regex.search(rf"(?<!{ALNUM}){digits}{{{length}}}\Z", left)
        after = regex.match(rf"{shape}(?!{ALNUM})", right)
        if before and after:
            return mark - length, mark + after.end()
    return None


def blank_identifiers(text: str) -> str:
    position = 0
    while found := regex.compile(r"[:.@\-]").search(text, position):
        span = identifier_at(text, found.start())
        position = found.end()
        if span:
            text = text[: span[0]] + " " * (span[1] - span[0]) + text[span[1] :]
            position = span[1]
    return text


WORD_BREAK = [
    *("CR", "LF", "Newline", "Extend", "ZWJ", "Format", "Regional_Indicator", "Katakana", "Hebrew_Letter", "ALetter"),
    *("Single_Quote", "Double_Quote", "MidNumLet", "MidLetter", "MidNum", "Numeric", "ExtendNumLet", "WSegSpace"),
]
CLASSES = [(name, regex.compile(rf"\p{{Word_Break={name}}}")) for name in WORD_BREAK]
PICTOGRAPHIC = regex.compile(r"\p{Extended_Pictographic}")
KEPT = regex.compile(r"[\p{Ll}\p{Lu}\p{Lt}\p{Lo}\p{Lm}\p{Mn}\p{Mc}\p{Nd}\p{Pc}]+")
ALPHABETIC = regex.compile(r"\p{Alphabetic}")
DIGIT = regex.compile(r"\p{Nd}")
WHITE_SPACE = regex.compile(r"\p{White_Space}+")

AHLETTER = {"ALetter", "Hebrew_Letter"}
MID_NUM_LET_Q = {"MidNumLet", "Single_Quote"}
IGNORED = {"Extend", "Format", "ZWJ"}
ENDS = {"CR", "LF", "Newline"}


@cache
def word_break(char: str) -> str:
    return next((name for name, pattern in CLASSES if pattern.match(char)), "Other")


def words(text: str) -> list[str]:
    """Cut at the word boundaries of UAX 29, section 4.1.1, rule by rule."""
    classes = [word_break(c) for c in text]
    # The positions that WB4 leaves over, for looking back and ahead across ignored characters.
    kept = [i for i, c in enumerate(classes) if c not in IGNORED or i == 0 or base(classes, i) is None]
    order = {position: n for n, position in enumerate(kept)}
    boundaries = [0, *(i for i in range(1, len(text)) if not joined(text, classes, kept, order, i))]
    return [text[a:b] for a, b in zip(boundaries, [*boundaries[1:], len(text)], strict=True) if a < b]


@lru_cache(maxsize=4)
def _bases(classes: tuple[str, ...]) -> list[int | None]:
    found: list[int | None] = []
    last: int | None = None
    for i, name in enumerate(classes):
        if name in IGNORED and last is not None:
            found.append(last)
        else:
            found.append(None)
            last = None if name in ENDS else i
    return found


def base(classes: list[str], i: int) -> int | None:
    """The character that the ignored character at i hangs on (WB4); None where it stands alone."""
    return _bases(tuple(classes))[i]


def joined(text: str, classes: list[str], kept: list[int], order: dict[int, int], i: int) -> bool:
    left, right = classes[i - 1], classes[i]
    if left == "CR" and right == "LF":  # WB3
        return True
    if left in ENDS or right in ENDS:  # WB3a, WB3b
        return False
    if left == "ZWJ" and PICTOGRAPHIC.match(text[i]):  # WB3c
        return True
    if left == right == "WSegSpace":  # WB3d
        return True
    if i not in order:  # WB4
        return True
    at = order[i]
    last = classes[kept[at - 1]]
    before = classes[kept[at - 2]] if at >= 2 else ""
    after = classes[kept[at + 1]] if at + 1 < len(kept) else ""
    rules = (
        last in AHLETTER and right in AHLETTER,  # WB5
        last in AHLETTER and right in MID_NUM_LET_Q | {"MidLetter"} and after in AHLETTER,  # WB6
        before in AHLETTER and last in MID_NUM_LET_Q | {"MidLetter"} and right in AHLETTER,  # WB7
        last == "Hebrew_Letter" and right == "Single_Quote",  # WB7a
        last == "Hebrew_Letter" and right == "Double_Quote" and after == "Hebrew_Letter",  # WB7b
        before == "Hebrew_Letter" and last == "Double_Quote" and right == "Hebrew_Letter",  # WB7c
        last == "Numeric" and right == "Numeric",  # WB8
        last in AHLETTER and right == "Numeric",  # WB9
        last == "Numeric" and right in AHLETTER,  # WB10
        before == "Numeric" and last in MID_NUM_LET_Q | {"MidNum"} and right == "Numeric",  # WB11
        last == "Numeric" and right in MID_NUM_LET_Q | {"MidNum"} and after == "Numeric",  # WB12
        last == right == "Katakana",  # WB13
        last in AHLETTER | {"Numeric", "Katakana", "ExtendNumLet"} and right == "ExtendNumLet",  # WB13a
        last == "ExtendNumLet" and right in AHLETTER | {"Numeric", "Katakana"},  # WB13b
    )
    if any(rules):
        return True
    if last == right == "Regional_Indicator":  # WB15, WB16
        run = 0
        while at - 1 - run >= 0 and classes[kept[at - 1 - run]] == "Regional_Indicator":
            run += 1
        return run % 2 == 1
    return False


def tokens(text: str, *, numbers: bool = False) -> list[str]:
    cut = blank_identifiers(normalise(text))
    pieces = (piece for word in words(cut) for piece in KEPT.findall(word))
    return [piece for piece in pieces if ALPHABETIC.search(piece) or (numbers and DIGIT.search(piece))]


BULLETS = regex.compile(r"(?<![^\n\f])[ \t]*([•‣⁃◦▪∙●](?=[ \t\n\r\f\xa0])|[-–—*](?= ))")
MINUS = regex.compile(r"(?<!\p{Nd})[‐–−](?=[\p{Nd}$€£¥₽₹₩₺฿])")
BLANKS = regex.compile(r"[\p{White_Space}\x00-\x1f\x7f\ufffe\uffff]+")


def fold(text: str) -> str:
    """What a text's digest is made of."""
    text = regex.sub(r"\p{Default_Ignorable_Code_Point}", "", ucd.normalize("NFC", text))
    lower = BULLETS.sub("", MINUS.sub("-", text)).lower().replace("ς", "σ")
    return BLANKS.sub(" ", lower).strip(" ")


def lookup8(key: bytes, initial: int = 0) -> int:
    """Jenkins' hash from its description: three words, 24 bytes a round, the length into the last."""
    shifts = ((43, 9, 8), (38, 23, 5), (35, 49, 11), (12, 18, 22))

    def mix(a: int, b: int, c: int) -> tuple[int, int, int]:
        for right1, left, right2 in shifts:
            a = ((a - b - c) & MASK) ^ (c >> right1)
            b = ((b - c - a) & MASK) ^ ((a << left) & MASK)
            c = ((c - a - b) & MASK) ^ (b >> right2)
        return a, b, c

    a = b = initial
    c = 0x9E3779B97F4A7C13
    position = 0
    while len(key) - position >= 24:
        parts = [int.from_bytes(key[position + 8 * n : position + 8 * n + 8], "little") for n in range(3)]
        a, b, c = mix((a + parts[0]) & MASK, (b + parts[1]) & MASK, (c + parts[2]) & MASK)
        position += 24
    rest = key[position:]
    a = (a + int.from_bytes(rest[:8], "little")) & MASK
    b = (b + int.from_bytes(rest[8:16], "little")) & MASK
    c = (c + len(key) + (int.from_bytes(rest[16:], "little") << 8)) & MASK
    return mix(a, b, c)[2]


def simhash(features: list[int], weights: list[int]) -> int:
    """Bit i is 1 where the weights of the features with bit i outweigh the others'."""
    value = 0
    for bit in range(64):
        bucket = sum(w if f >> bit & 1 else -w for f, w in zip(features, weights, strict=True))
        value |= (bucket > 0) << bit
    return value


def fingerprint(text: str) -> tuple[int, int] | None:
    found = tokens(text)
    if not found:
        return None
    return simhash([lookup8(token.encode()) for token in found], [1] * len(found)), len(found)


def keys(value: int) -> list[int]:
    """Block and part of table 4b + s, taken out of the binary digits."""
    digits = f"{value:064b}"
    found = []
    for b in range(4):
        block, left = digits[16 * b : 16 * b + 16], digits[: 16 * b] + digits[16 * b + 16 :]
        found += [int(block + left[12 * s : 12 * s + 12], 2) for s in range(4)]
    return found
