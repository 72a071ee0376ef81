"""Telling words and names of short texts."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from indexer.core.text import lookup8, without_marks
from indexer.text.links import LINK, without_tracking
from indexer.text.vocabulary import GRAMMATICAL, NEGATIONS, NUMERALS, SIZES, UNITS
from indexer.text.words import without_trade_marks, words_of

_RUNS = re.compile(r"\d+|[^\W\d_]+")
# What makes another number of a number, or another thing of a letter.
_SIGNS = re.compile(r"[%‰°&]|(?<!\s)#|#(?![^\W\d])|(?<=\w)\+|(?<!\w)[-\N{MINUS SIGN}](?=\d)|[$€£¥₹₽₩₺₴₪฿₫]")
_ROMAN = re.compile(r"x{0,3}(ix|iv|v?i{0,3})")
_HAN_NUMERALS = frozenset("二三四五六七八九十百千万亿两萬億兩")
# Of Greek vowels, and the dot of a capital I in Turkish.
_ACCENTS = re.compile("([\u03b1-\u03c9])[\u0300\u0301\u0308\u0342]+|(?<=i)\u0307")
_CONSONANTS = frozenset("bcdfghjklmnpqrstvwxz")
_APOSTROPHES = ("'", "\N{RIGHT SINGLE QUOTATION MARK}")
_LONGEST_UNIT = 3
# Marks that no reader sees: where a word may be broken, and which way it runs.
_UNSEEN = dict.fromkeys((0xAD, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)))
# Most names of persons in Chinese begin with one of these.
_SURNAMES = frozenset(
    "王李张刘陈杨黄赵吴周徐孙朱胡郭何罗郑梁谢宋唐许韩冯邓曹彭曾萧蔡潘袁董余苏吕魏蒋沈姚卢傅丁薛阎崔谭汪范廖邹熊"
    "马高林钱汤尹黎贺顾毛郝龚邵严戴莫孔康施葛邢乔庞颜倪聂鲁岳翟殷詹耿俞裴霍翁骆"
)
# And go on with one letter or two.
_GIVEN = 2
# Common words that begin or end with one.
_NO_SURNAMES = (
    "森林 园林 树林 林业 提高 最高 更高 高速 高考 高校 高级 高度 高中 高铁 高等 高层 马上 马路 "
    "许多 许可 也许 允许 任何 如何 何时 曾经 不曾 周年 周期 周末 周边 四周 严重 严格 严厉 尊严 "
    "康复 健康 施工 实施 措施 范围 规范 示范 余额 其余 业余 毛病 黄金 黄河 黄色 开张 紧张 扩张 "
    "主张 金钱 价钱 唐代 宋代 陈列 陈旧 孔子 顾客 照顾 回顾 董事 祝贺 庞大 颜色 石油 郑重 罗马 "
    "罗列 程度 过程 工程 温度 夏季 叶子 江苏 苏州 苏联 胡同 吴江 徐州 沈阳 "
)
# In Finnish and Hungarian they negate; in Spanish, French and Portuguese they are the commonest words.
_NO_NEGATIONS = frozenset(("en", "em"))


class ShortText(NamedTuple):
    """A text's words in order, in folded case, with marks of possible names and of telling words.

    `facts` is a hash of the telling words: the numbers with their units, in order, and the signs, sizes, negations and
    short codes. Texts with different `facts` are never copies. `aside` marks links and hashtags.
    """

    words: tuple[str, ...]
    names: tuple[bool, ...]
    telling: tuple[bool, ...]
    facts: int
    aside: tuple[bool, ...] = ()


def short_text(text: str) -> ShortText:
    """The words of a text, with numbers apart from letters, its names and its facts.

    A capitalised word may be a name unless it is a word of grammar. The first word of a sentence counts too, and so do
    the words of "main.c" and "open_file". In scripts without capitals, only Chinese surnames count, with the next two
    letters.
    """
    text = without_tracking(without_trade_marks(text))
    if not text.isprintable():
        text = text.translate(_UNSEEN)
    shown = list(_shown(text))
    mixed_case = any(each.text.islower() for each in shown if not each.is_link)
    folded = tuple(_folded(each.text) for each in shown)
    names = tuple(
        word.in_file
        or _has_capital(word.text, each, mixed_case=mixed_case)
        or (_is_han(each) and any(_is_surname(folded, at) for at in range(max(place - _GIVEN, 0), place + 1)))
        for place, (word, each) in enumerate(zip(shown, folded, strict=True))
    )
    numbers, others, telling, before = list[str](), _SIGNS.findall(LINK.sub(" ", text)), list[bool](), ""
    for word, each in zip(shown, folded, strict=True):
        told = len(numbers) + len(others)
        if word.is_link:
            pass
        elif word.in_code or _is_number(each) or (_is_digit(before[-1:]) and _is_unit(each)):
            numbers.append(each)
        elif _tells(word, each, mixed_case=mixed_case):
            others.append(each)
        telling.append(len(numbers) + len(others) > told)
        before = each
    said = "\0".join([*numbers, "", *sorted(others)]).encode("utf-8", "surrogatepass")
    return ShortText(folded, names, tuple(telling), lookup8(said), tuple(each.is_aside for each in shown))


class _WordShown(NamedTuple):
    """A word as it is written: joined by an apostrophe or a hyphen, or part of a code.

    `in_file` is true for a part of a file name, and for a name with an underscore. A link is one word; links and
    hashtags stand aside.
    """

    text: str
    elided: bool
    leads: bool
    in_code: bool
    in_file: bool
    is_link: bool = False
    is_aside: bool = False


def _shown(text: str) -> Iterator[_WordShown]:
    found, links = words_of(text), [match.span() for match in LINK.finditer(text)]
    shown_link = -1
    # A fraction is several words in one place.
    for start, end in dict.fromkeys(zip(found.starts.tolist(), found.ends.tolist(), strict=True)):
        if (link := bisect_right(links, (start, len(text))) - 1) >= 0 and start < links[link][1]:
            if link > shown_link:
                yield _WordShown(
                    text[slice(*links[link])].strip().lower(), False, False, False, False, is_link=True, is_aside=True
                )
            shown_link = link
            continue
        word = text[start:end]
        is_tag = text[start - 1 : start] == "#" and not text[start - 2 : start - 1].strip()
        elided = text[start - 1 : start] in _APOSTROPHES or text[end : end + 1] in _APOSTROPHES
        leads = text[end : end + 1] == "-" and text[end + 1 : end + 2].isalpha()
        in_file = "_" in word or any(
            sign == "." and beside.isalnum()
            for sign, beside in (
                (text[end : end + 1], text[end + 1 : end + 2]),
                (text[start - 1 : start], text[start - 2 : start - 1]),
            )
        )
        parts = (_RUNS.findall(word) if any(map(str.isdigit, word)) else ()) or (word,)
        for part in parts:
            is_part = len(parts) > 1
            yield _WordShown(part, elided, leads, is_part, in_file and not part.isdecimal(), is_aside=is_tag)


@lru_cache(maxsize=1 << 16)
def _folded(word: str) -> str:
    # Capitals of Greek have no accents, and I is the capital of a Turkish letter too.
    plain = unicodedata.normalize("NFKC", without_marks(word).decode("utf-8", "replace")).casefold()
    if not plain.isascii():
        plain = unicodedata.normalize(
            "NFC", _ACCENTS.sub(lambda found: found[1] or "", unicodedata.normalize("NFD", plain))
        ).replace("\N{LATIN SMALL LETTER DOTLESS I}", "i")
    # In a stored form words are parted by spaces and by ^.
    return plain.replace(" ", "").replace("^", "") or "?"


def _has_capital(word: str, folded: str, *, mixed_case: bool) -> bool:
    return word[0] != word[0].lower() and (
        folded not in GRAMMATICAL or (len(word) > 1 and word.isupper() and mixed_case)
    )


def _is_han(word: str) -> bool:
    return len(word) == 1 and "\u4e00" <= word <= "\u9fff"


def _is_surname(letters: Sequence[str], place: int) -> bool:
    if letters[place] not in _SURNAMES:
        return False
    around = "".join(letters[max(place - 1, 0) : place + 2])
    return not any(f"{pair} " in _NO_SURNAMES for pair in (around[:2], around[-2:]))


def _is_digit(character: str) -> bool:
    return character.isdigit() or (bool(character) and unicodedata.category(character) in ("No", "Nl"))


def _is_number(word: str) -> bool:
    return (
        _is_digit(word[0])
        or word in NUMERALS
        or word in _HAN_NUMERALS
        or (len(word) > 1 and _ROMAN.fullmatch(word) is not None)
    )


def _is_unit(word: str) -> bool:
    return len(word) <= _LONGEST_UNIT and word.upper() != word and word not in GRAMMATICAL


def _tells(shown: _WordShown, folded: str, *, mixed_case: bool) -> bool:
    """True for a word that changes the meaning of a text wherever it stands.

    A vowel does in Vitamin E, but not in E-Mail, also written e-mail.
    """
    word = shown.text
    if (folded in NEGATIONS and folded not in _NO_NEGATIONS) or folded in SIZES or folded in UNITS:
        return True
    if len(folded) == 1:
        if shown.elided:
            return folded == "t"
        is_vowel = word.isupper() and mixed_case and not shown.leads and folded not in GRAMMATICAL
        return folded in _CONSONANTS or is_vowel
    return len(folded) == 2 and word.isupper() and folded not in GRAMMATICAL
