"""Writes simhash-doc.json with the slow oracle: `python -m tests.vectors.make_vectors`, from the checkout."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from tests import oracle

OUTPUT = Path(__file__).with_name("simhash-doc.json")

ABOUT = {
    "scheme": "simhash-doc",
    "short_id": "sd1",
    "unicode": "18.0.0",
    "fields": {
        "text": "the input",
        "normalised": "toNFKC_Casefold of the text",
        "tokens": "its tokens in order, after identifiers are blanked",
        "hashes": "lookup8 (initial value 0) of each token's UTF-8, 16 hexadecimal digits",
        "value": "the fingerprint, 16 hexadecimal digits, the most significant bit first; null where there is none",
        "bits": "the same bits as a signed 64-bit integer, in decimal digits",
        "base32": "RFC 4648 base32 of the eight bytes, big-endian, lower case, no padding",
        "string": "the form with the scheme's short id",
        "keys": "the keys of tables t00 to t15, 7 hexadecimal digits each",
    },
}

TEXTS = {
    "empty": "",
    "no word": " 12 + 34 = 46 … !?",
    "one word": "word",
    "one letter": "a",
    "a pangram": "The quick brown fox jumps over the lazy dog.",
    "counted, not a set": "dog dog dog cat",
    "a tie in every bit that differs": "dog cat",
    "numbers with letters count, alone they do not": "3rd 1990s 2024 v2 0x1F a1b2",
    "underscores hold words together": "snake_case _leading trailing_ __ a_1",
    "apostrophes part": "l'homme don't rock’n’roll O'Neill",
    "abbreviations": "e.g. U.S.A. 3.14 1,000 a.b",
    "case": "STRASSE Straße straße ΣΊΣΥΦΟΣ Σίσυφος",
    "dotted and dotless i": "İstanbul ISPARTA ısparta",
    "compatibility forms": "ﬁnance ① ℌello ｆｕｌｌ　ｗｉｄｔｈ ㎏ ²",
    "composed and decomposed": "café cafe\u0301 Å A\u030a \u212b",
    "marks out of order": "a\u0301\u0323 a\u0323\u0301 ạ\u0301",
    "ignorable characters": "soft\u00adhyphen zero\u200bwidth join\u200der vari\ufe0fation \ufeffbom",
    "a lone mark": "\u0301 \u0301a . \u0301b",
    "a mark on a full stop between letters": "a.\u0301b 1.\u03012",
    "addresses on the web": "see https://example.org/a/b?c=d#e and www.example.com/x, or HTTP://EXAMPLE.ORG.",
    "addresses of mail": "write to Jane.Doe+x@mail.example.org or mailto:a@b.cd now; a@b is none",
    "identifiers of papers": "doi:10.1000/182 10.1371/journal.pone.01 arXiv:2101.00001v2 https://doi.org/10.1/x end",
    "other identifiers": "123e4567-e89b-12d3-a456-426614174000 0000-0002-1825-009X urn:isbn:045 isbn:978-3-16 text",
    "what only looks like one": "note: this 10.5/3 and/or 12:30 C++ a:b www of",
    "identifiers in Chinese text": "详见https://example.org/文章。谢谢",
    "Chinese": "人人生而自由，在尊严和权利上一律平等。",
    "Japanese": "すべての人間は、生まれながらにして自由であり、カタカナ・ﾊﾝｶｸも。",
    "Korean": "모든 인간은 태어날 때부터 자유로우며 \u1112\u1161\u11ab\u1100\u1173\u11af",
    "Thai": "มนุษย์ทั้งหลายเกิดมามีอิสระ",
    "Khmer": "មនុស្សទាំងអស់ កើតមកមានសេរីភាព",
    "Hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में",
    "Bengali": "সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা",
    "Hebrew with points": "בְּרֵאשִׁית בָּרָא אֱלֹהִים צה״ל ג׳ירפה",
    "Arabic": "يولد جميع الناس أحرارًا متساوين ﷺ",
    "Russian": "Все люди рождаются свободными и равными; ёлка",
    "emoji with joiners": "family 👨\u200d👩\u200d👧 flag 🇫🇷 thumbs 👍🏽 done",
    "long words": "pneumonoultramicroscopicsilicovolcanoconiosis Donaudampfschifffahrt abcdefghijklmnopqrstuvwx",
    "lines": "one\r\ntwo\nthree\u2028four\u0085five\tsix",
    "a paragraph": " ".join(
        f"Paragraph {n} says that near-duplicate documents, in the words of the field, share most of their terms."
        for n in range(9)
    ),
}


def vector(name: str, text: str) -> dict[str, Any]:
    tokens = oracle.tokens(text)
    found = oracle.fingerprint(text)
    entry: dict[str, Any] = {
        "name": name,
        "text": text,
        "normalised": oracle.normalise(text),
        "tokens": tokens,
        "hashes": [f"{oracle.lookup8(token.encode()):016x}" for token in tokens],
    }
    if found is None:
        return entry | {"value": None, "bits": None, "base32": None, "string": None, "keys": []}
    value = found[0]
    base32 = base64.b32encode(value.to_bytes(8, "big")).decode().rstrip("=").lower()
    return entry | {
        "value": f"{value:016x}",
        "bits": str(value - (1 << 64) if value >> 63 else value),
        "base32": base32,
        "string": f"{ABOUT['short_id']}-{base32}",
        "keys": [f"{key:07x}" for key in oracle.keys(value)],
    }


def render() -> str:
    document = ABOUT | {"vectors": [vector(name, text) for name, text in TEXTS.items()]}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    OUTPUT.write_text(render(), encoding="utf-8")
