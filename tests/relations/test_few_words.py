"""The relation of titles, messages and products: pairs of the kinds that were read by eye in real collections."""

from __future__ import annotations

import pytest

from indexer.clustering.relations import Permitted
from indexer.relations.comparing import relate
from indexer.relations.lexicon import Lexicon
from indexer.relations.relation import Relation
from indexer.relations.wording import Wording


def related(left: str, right: str) -> Relation:
    """The relation of two texts of a collection that knows the words of the left one."""
    lexicon = Lexicon()
    for number in range(6):
        lexicon.add([Wording(f"{left} {number}").hashes])
    return relate(Wording(left), Wording(right), lexicon)


SIGNS = (
    ("invalid number behind '-'", "invalid number behind ','"),
    ("Found } but no end of it", "Found { but no end of it"),
    ("a + at the start of an expression", "a * at the start of an expression"),
    ("Marks of the letter A", "Marks of the letter -A"),
    ("it can't run 'cron'", "it can't run 'cron -l'"),
    ("Acme Kone Mouse", "Acme Kone[+] Mouse"),
    ("I love you 😀", "I love you 😡"),
    ("Lovely food ★★★", "Lovely food ★★★★★"),
    ("Lovely food here", "Lovely food here 🤮"),
    ("You come with us.", "You come with us?"),
    ("\ufffd\ufffd - server of pages", "\ufffd\ufffd\ufffd\ufffd - server of pages"),
)
WORDS = (
    (
        "city in the east of Ukraine on the Dnieper River",
        "port city and industrial centre in the east of Ukraine on the Dnieper River",
    ),
    (
        "a pair with the start width and height of the window",
        "a pair with the start width, height and maximal state of the window",
    ),
    (
        "union of cells of male and female from the same person",
        "union of cells of male and female from different person of the same family",
    ),
    ("cannot use --create together with --drop", "cannot use --create or --drop together with --start"),
    ("a size for a large person", "a size for a very large person"),
    ("Ta bort hjälplinjer", "Ta bort alla hjälplinjer"),
    ("Women in Syria", "Women in war in Syria"),
    ("为密钥创建一个吊销证书", "为密钥创建一个指定吊销者证书"),
)
ORDER = (
    (
        "the compass point that is one point north of due east",
        "the compass point that is one point east (clockwise) of due north",
    ),
    (
        "ratio of the longer to the shorter side of a rectangle",
        "ratio of the shorter side to the longer of a rectangle",
    ),
    ("雷雨、小雪のち晴れ", "小雪、雷雨のち晴れ"),
    ("用法：%s [选项]... 模式 [文件]...", "用法：%s [选项]... 文件 模式..."),
    ("ต้องการแฟ้ม แต่ %1 เป็นโฟลเดอร์", "ต้องการโฟลเดอร์ แต่ %1 เป็นแฟ้ม"),
    ("ข้อความในหน้าต่าง", "ปิดหน้าต่างข้อความ"),
)
LETTERS = (
    ("in a reckless manner", "in a feckless manner"),
    ("the abductor of the toe", "the adductor of the toe"),
    ("Import of vCalendar files", "Import of iCalendar files"),
    ("src/dcgettext.c: the same", "src/dcngettext.c: the same"),
    ("compile again with -fPIC", "compile again with -fPIE"),
    ("Conectado a %s", "Conectando a %s"),
    ("входной файл: %s", "выходной файл: %s"),
    ("монитор выключён", "монитор включён"),
    ("a prize for Johansson", "a prize for Johanson"),
)


@pytest.mark.parametrize(("left", "right"), [*SIGNS, *WORDS, *ORDER, *LETTERS])
def test_what_tells_a_title_from_another_one_keeps_both(left: str, right: str) -> None:
    for one, other in ((left, right), (right, left)):
        assert related(one, other).word == "form"


@pytest.mark.parametrize(
    ("stays", "goes", "word"),
    [
        ("Release notes", "Release notes ¶", "reflowed"),
        ("LilyPond snippets", "LilyPond — Snippets", "reflowed"),
        ("Intel® Xeon™ processor", "Intel Xeon processor", "reflowed"),
        ("a discount of 100 % today", "a discount of 100% today", "reflowed"),
        ("*** a file of mine ***", "A file of mine", "reflowed"),
        ("The file is too large", "file is too large", "edited"),
        ("Bump debhelper to version 13", "Bump debhelper version to 13", "edited"),
        ("New upstream release", "New upstrema release", "noise"),
        ("Enable all hardening options", "Enable all hardnening options", "noise"),
        ("Borda da barra de progresso", "Borda da barra de progesso", "noise"),
        ("Стиль подчёркивания для текста", "Стиль подчеркивания для текста", "noise"),
        ("an unrecognized option", "an unrecognised option", "noise"),
    ],
)
def test_what_says_the_same_goes(stays: str, goes: str, word: str) -> None:
    lexicon = Lexicon()
    for number in range(6):
        lexicon.add([Wording(f"{stays} {number}").hashes])
    found = relate(Wording(goes), Wording(stays), lexicon)
    assert found.word == word
    assert Permitted().reason_to_keep(found, "") is None


def test_words_beside_the_mark_of_a_list_are_looked_at() -> None:
    """Only one of them has a mark there, and the other one a word that nothing else tells of."""
    said = " is added to the list of those who get a copy of each message, by the line '%s' of the file that was read."
    for text, expected in ((said, "form"), (5 * said, "edited")):
        assert relate(Wording(f"1. cc{text}"), Wording(f"Bcc cc{text}")).word == expected
        assert relate(Wording(f"(mbox) cc{text}"), Wording(f"(본문) cc{text}")).word == "form"
        assert relate(Wording(f"iv. cc{text}"), Wording(f"cc{text}")).word == "reflowed"
