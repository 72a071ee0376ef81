"""Stop-lists, language detection and dictionaries, with their versions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from indexer.core.text import UNICODE_VERSION, tokenise
from indexer.errors import UsageError

AUTO = "auto"
# The language is detected from this many characters; more would cost time and change nothing.
DETECTED_CHARACTERS = 20_000


def stop_list(wanted: object) -> str:
    """The full name of requested stop-lists, such as "en.de-0.7.1"; "none" for none.

    Raises UsageError for a language without a list, a version not installed, and a missing detector.
    """
    if wanted in ("none", ""):
        return "none"
    asked, _, stated = str(wanted).partition("-")
    from importlib.metadata import version

    import stopwordsiso

    if asked == AUTO:
        _detector()
        installed = f"{version('stopwordsiso')}-{version('py3langid')}"
    else:
        installed = version("stopwordsiso")
        unknown = sorted(set(asked.split(".")) - stopwordsiso.langs())
        if unknown:
            there = ", ".join(sorted(stopwordsiso.langs()))
            raise UsageError(f"stop={wanted}: no list for {unknown[0]!r}; there are: none, {AUTO}, {there}")
        asked = ".".join(sorted(set(asked.split("."))))
        if len(asked) > 40:
            raise UsageError(f"stop={wanted}: at most 13 languages")
    _same_version("stop", str(wanted), stated, installed)
    return f"{asked}-{installed}"


def tokenizer(wanted: object) -> str:
    """The full name of a requested tokenizer, such as "icu-78.3".

    Raises UsageError for an unknown one, a version not installed, and missing ICU.
    """
    asked, _, stated = str(wanted).partition("-")
    if asked == "uax29":
        installed = UNICODE_VERSION
    elif asked == "icu":
        installed = str(_optional("icu4py", "tokenizer=icu", "icu").icu_version)
    else:
        raise UsageError(f"tokenizer={wanted}: must be uax29 or icu")
    _same_version("tokenizer", str(wanted), stated, installed)
    return f"{asked}-{installed}"


def stop_words(name: str, text: str | bytes) -> frozenset[str]:
    if name == "none":
        return frozenset()
    asked = name.partition("-")[0]
    if asked != AUTO:
        return _lists(asked)
    return _lists(detected(text))


def detected(text: str | bytes) -> str:
    """The language of a text, ISO 639-1; empty if unknown. Raises UsageError without the detector."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    # Cut as characters, so that the detector never sees half of one.
    start = data[: 4 * DETECTED_CHARACTERS].decode("utf-8", "replace")[:DETECTED_CHARACTERS]
    language, score = _detector().classify(start)
    return str(language) if score > -1e38 else ""


def dictionary_cuts(run: str) -> Iterator[int]:
    from icu4py.breakers import WordBreaker

    # The dictionaries have the vowel signs AM of Thai and Lao whole; NFKC takes them apart.
    whole = run.replace("\u0e4d\u0e32", "\u0e33").replace("\u0ecd\u0eb2", "\u0eb3")
    for word in WordBreaker(whole, "root"):
        yield len(word) + word.count("\u0e33") + word.count("\u0eb3")


@cache
def _lists(asked: str) -> frozenset[str]:
    import stopwordsiso

    words = (word for code in asked.split(".") if stopwordsiso.has_lang(code) for word in stopwordsiso.stopwords(code))
    return frozenset(token.decode() for word in words for token in tokenise(word).tokens)


def _detector() -> Any:
    return _optional("py3langid", "stop=auto", "languages")


def _optional(module: str, wanted: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(f"{wanted}: needs {module}, which is not installed: pip install 'neardup[{extra}]'") from error


def _same_version(parameter: str, wanted: str, stated: str, installed: str) -> None:
    if stated and stated != installed:
        raise UsageError(
            f"{parameter}={wanted}: version {installed} is installed, which makes other features; install the one "
            f"that is named, or remove the scheme from the store and index again"
        )
