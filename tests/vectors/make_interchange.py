"""Writes docs/vectors/*.tsv, what other implementations check themselves by, with the slow oracles.

Run as `python -m tests.vectors.make_interchange`, from the checkout. A line is the bytes of a text in hexadecimal, a
tab, and the written form, or "-" where the text has no fingerprint; in digests.tsv the digest, hexadecimal.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from tests import oracle
from tests.schemes import oracle_minwise as minwise
from tests.schemes import variants_oracle as variants

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "docs" / "vectors"
ILL_FORMED = (
    b"caf\xe9 au lait",
    b"\xf0\x90\x28\xbc cut short",
    b"over\xc0\xaflong",
    b"half \xed\xa0\x80 a pair",
    b"end \xe4\xb8",
)

MARKED = (
    "كَتَبَ الطَّالِبُ الدَّرْسَ فِي المَدْرَسَةِ ثُمَّ عَادَ إِلَى البَيْتِ مَعَ أَخِيهِ",
    "كتب الطالب الدرس في المدرسة ثم عاد الى البيت مع اخيه",
    "كتـــب الطالب الدرس في المدرسة ثم عاد الي البيت مع اخيه",
    "کتاب‌های قدیمی را یکی یکی در ۱۲ قفسه گذاشتیم و رفتیم",
    "كتاب‌هاي قديمي را يكي يكي در ١٢ قفسه گذاشتيم و رفتيم",
    "הַיֶּלֶד קָרָא סֵפֶר אָרֹךְ בַּגַּן שֶׁל סָבְתָא",
    "הילד קרא ספר ארך בגן של סבתא",
    "ܫܠܳܡܳܐ ܥܰܠ ܟܽܠ ܐ̱ܢܳܫܳܐ ܕܰܒܢܰܝܢܰܫ",
    "हिन्दी में मात्राएँ और अनुस्वार शब्द का भाग हैं",
    "ภาษาไทยเขียนวรรณยุกต์เสมอ ที่นี่ก็เช่นกัน",
    "Tiếng Việt luôn viết dấu ở mọi chữ cái cần có",
)


def texts() -> Iterator[bytes]:
    """The texts of the golden vectors, some that are not well-formed UTF-8, and long ones."""
    for name in ("simhash-doc", "minhash"):
        content = json.loads((ROOT / "tests" / "vectors" / f"{name}.json").read_text("utf-8"))
        if name == "minhash":
            yield from (text.encode() for text in content["texts"].values())
        else:
            yield from (vector["text"].encode("utf-8", "surrogatepass") for vector in content["vectors"])
    yield from ILL_FORMED
    # Marks that a language may leave out, on a text and on the same without them; and marks that it always writes.
    yield from (text.encode() for text in MARKED)
    # Long enough for windows of shingles, and with a stretch that stands in it twice.
    counted = [f"{number} {word}" for number in range(1, 81) for word in ("lines of", "verse", "and rhyme")]
    yield " ".join(counted).encode()
    yield " ".join([*counted[90:], "once more:", *counted[:120]]).encode()


def written(short: str, payload: bytes) -> str:
    return f"{short}-{base64.b32encode(payload).decode('ascii').rstrip('=').lower()}"


def sd1(text: str) -> str:
    found = oracle.fingerprint(text)
    return written("sd1", found[0].to_bytes(8, "big")) if found else "-"


def mh3(text: str) -> str:
    shingles = minwise.shingle_hashes(text, 5, numbers=True)
    return written("mh3", minwise.pack(minwise.fast_minhash(shingles, 1024), 1, 1)) if shingles else "-"


def pa2(text: str) -> str:
    keys = variants.passage_keys(text, "words", 5, 32)
    return written("pa2", b"".join(key.to_bytes(5, "big") for key in keys)) if keys else "-"


def digest(text: str) -> str:
    return hashlib.sha256(oracle.fold(text).encode()).hexdigest()[:32]


FORMS = {"sd1": sd1, "mh3": mh3, "pa2": pa2, "digests": digest}


def lines(short: str) -> str:
    """The file of a scheme."""
    form = FORMS[short]
    return "".join(f"{text.hex()}\t{form(text.decode('utf-8', 'replace'))}\n" for text in dict.fromkeys(texts()))


if __name__ == "__main__":
    TARGET.mkdir(exist_ok=True)
    for each in FORMS:
        (TARGET / f"{each}.tsv").write_text(lines(each), "ascii")
