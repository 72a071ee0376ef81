"""Grammar, negations and numbers, by language."""

# ruff: noqa: RUF001 - they are letters of other scripts

from __future__ import annotations

import itertools
import re
from collections import Counter
from functools import cache
from typing import NamedTuple

# The words of grammar also tell the language of a text.
_GRAMMAR = {
    "en": "a an the this that these those but if then than so as of to in on at by for from with into onto "
    "about between through during it its he she they them his her their we our us you your i me my who "
    "which what whose whom when where why how is are was were be been being am has have had having do "
    "does did done there here also such some just very too much many own same because since upon per via "
    "and or",
    "de": "der die das den dem des ein eine einen einem einer eines wenn dann als wie von zu auf bei für aus "
    "mit durch um er sie es wir ihr ich mich uns sein seine ihre ihren dass daß ob ist sind war waren "
    "wird werden wurde wurden hat haben hatte auch noch sehr im zum zur vom in und oder sich an am",
    "fr": "le la les l un une du de des d si que qui quoi dont où ce cet cette ces il elle ils elles nous vous "
    "je son sa ses leur leurs au aux en dans par pour sur avec est sont était été être ont avait très "
    "aussi se et ou à on s",
    "es": "el la los las un una unos unas del de que y o en como por para con al su sus se es son era fue ser "
    "ha han muy también si lo le a",
    "it": "il lo la i gli le un uno una di da del della dei delle al alla nel nella che e o in con per su è "
    "sono anche si non se come dal dalla nei ai a",
    "pt": "o a os as um uma de do da dos das em no na nos nas que e ou com para por ao à é são foi como também "
    "se mais seu sua pelo pela",
    "nl": "de het een en of van in op te voor met aan zijn is dat die dit er om naar door bij uit als wordt "
    "worden werd ook maar dan u je ze",
    "sv": "och att det som på är av för med en ett den i till om har inte kan de var från eller",
    "da": "og at det som på er af for med en et den i til om har kan de var fra eller der",
    "fi": "ja on se että joka tai kun ovat oli mutta niin kuin voi jos myös sen",
    "ru": "и в на с что как по это из у за от для к о же вы он она они но или при если до также его их",
    "uk": "і в на з що як по це із у за від для до та або при якщо також його їх є",
    "pl": "i w na z że jak po to za od dla do o się jest są lub przez przy oraz nie który która",
    "cs": "a v na s že jak po to za od pro do o se je jsou nebo při který která i k z",
    "tr": "ve bir bu da de için ile olarak olan daha gibi çok veya ise her",
    "ar": "في من على إلى عن أن التي الذي هذا هذه كان مع أو ما",
    "he": "של את על עם כי הוא היא זה או אם גם לא כל",
    "hi": "के का की में है और से को पर यह कि हैं लिए एक भी या",
    "id": "yang dan di dari untuk dengan pada ini itu dalam ke oleh atau adalah",
    "vi": "và của là trong có cho các với được một những để này",
    "zh": "的 是 在 了 和 有 这 中 为 与 将 或",
    "ja": "の は を に が と で た し ま す る",
}
_NEGATIONS = {
    "en": "not no never none nobody nothing nowhere neither nor without cannot",
    "de": "nicht kein keine keinen keinem keiner keines nie niemals niemand nichts ohne weder",
    "fr": "non ne pas jamais aucun aucune sans ni rien personne n",
    "es": "no ni sin nunca jamás tampoco nada nadie ningún ninguna ninguno",
    "it": "non né mai nessun nessuna nessuno senza niente nulla",
    "pt": "não sem nem nunca jamais nenhum nenhuma nada ninguém",
    "nl": "niet geen nooit zonder noch niets niemand",
    "sv": "inte ingen inget inga aldrig utan",
    "da": "ikke ingen intet aldrig uden",
    "fi": "ei en emme ette eivät eikä ilman",
    "ru": "не нет ни без никогда никто ничего нельзя",
    "uk": "не ні без ніколи ніхто нічого немає",
    "pl": "nie nigdy żaden bez nikt nic ani",
    "cs": "ne není nejsou žádný nikdy bez nikdo nic ani",
    "tr": "değil yok hayır asla hiç",
    "ar": "لا لم لن ليس ليست غير بدون",
    "he": "לא אין בלי אל",
    "hi": "नहीं न मत बिना",
    "id": "tidak bukan tanpa jangan",
    "vi": "không chưa chẳng đừng",
    "zh": "不 没 沒 無 无 非 未 否 勿 莫 毋",
    "ja": "無 非 未 否",
}
_NUMERALS = {
    "en": "zero two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand "
    "million billion first second third fourth fifth sixth seventh eighth ninth tenth once twice half "
    "quarter dozen",
    "de": "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreißig vierzig fünfzig "
    "sechzig siebzig achtzig neunzig hundert tausend million millionen erste zweite dritte vierte fünfte "
    "erster zweiter dritter ersten zweiten dritten halb",
    "fr": "zéro deux trois quatre cinq sept huit neuf dix onze douze vingt trente quarante cinquante soixante "
    "cent mille million premier première deuxième troisième demi",
    "es": "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce veinte treinta cuarenta "
    "cincuenta cien mil millón primero primera segundo segunda tercero tercera medio media",
    "it": "zero due tre quattro cinque sei sette otto nove dieci undici dodici venti trenta quaranta cinquanta "
    "cento mille milione primo prima secondo seconda terzo terza mezzo mezza",
    "pt": "zero dois duas três quatro cinco seis sete oito nove dez onze doze vinte trinta quarenta cinquenta "
    "cem mil milhão primeiro primeira segundo segunda terceiro terceira meio meia",
    "nl": "nul twee drie vier vijf zes zeven acht negen tien elf twaalf twintig dertig veertig vijftig honderd "
    "duizend miljoen eerste tweede derde half halve",
    "sv": "noll två tre fyra fem sex sju åtta nio tio elva tolv tjugo hundra tusen första andra tredje",
    "da": "nul to tre fire fem seks syv otte ni ti elleve tolv tyve hundrede tusind første anden tredje",
    "fi": "nolla yksi kaksi kolme neljä viisi kuusi seitsemän kahdeksan yhdeksän kymmenen sata tuhat",
    "ru": "ноль один два три четыре пять шесть семь восемь девять десять двадцать сто тысяча миллион первый "
    "второй третий первая вторая",
    "uk": "нуль один два три чотири п ять шість сім вісім дев ять десять сто тисяча перший другий третій",
    "pl": "zero jeden dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć sto tysiąc pierwszy drugi trzeci",
    "cs": "nula jeden dva tři čtyři pět šest sedm osm devět deset sto tisíc první druhý třetí",
    "tr": "sıfır iki üç dört beş altı yedi sekiz dokuz on yüz bin birinci ikinci üçüncü",
    "ar": "صفر واحد اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة عشرة مائة ألف",
    "he": "אפס אחת שתיים שלוש ארבע חמש שש שבע שמונה תשע עשר מאה אלף",
    "hi": "शून्य दो तीन चार पाँच छह सात आठ नौ दस सौ हज़ार",
    "id": "nol satu dua tiga empat lima enam tujuh delapan sembilan sepuluh seratus seribu",
    "vi": "hai ba bốn năm sáu bảy tám chín mười trăm nghìn",
    "zh": "二 三 四 五 六 七 八 九 十 百 千 万 亿 两 萬 億 兩",
    "ja": "二 三 四 五 六 七 八 九 十 百 千 万 億",
}
# So many words of grammar in a text, and more than of any other language, are a language.
_LEAST = 3
_READ = 20_000
_WORD = re.compile(r"[^\W\d_]+")
_SPACED = bytes(code if chr(code).isalpha() and code < 0x80 else ord(" ") for code in range(256))
_LETTER = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")


class LanguageWords(NamedTuple):
    """Words of one language, in folded case; `capital_nouns` is true if every noun has a capital."""

    grammar: frozenset[str] = frozenset()
    negations: frozenset[str] = frozenset()
    numerals: frozenset[str] = frozenset()
    capital_nouns: bool = False


UNKNOWN = LanguageWords()


def vocabulary_of(text: str) -> LanguageWords:
    start = text[:_READ].casefold()
    if start.isascii():
        words = {*start.encode().translate(_SPACED).decode().split()}
    else:
        words = {*_WORD.findall(start), *_LETTER.findall(start)}
    known = _languages_by_word()
    counts = Counter(itertools.chain.from_iterable(known[word] for word in words & known.keys()))
    first, second = [*counts.most_common(2), ("", 0), ("", 0)][:2]
    return of_language(first[0]) if first[1] >= _LEAST and first[1] > second[1] else UNKNOWN


@cache
def _languages_by_word() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, words in _GRAMMAR.items():
        for word in {*words.split()}:
            found.setdefault(word, []).append(name)
    return found


@cache
def of_language(name: str) -> LanguageWords:
    grammar, negations, numerals = (frozenset(of[name].split()) for of in (_GRAMMAR, _NEGATIONS, _NUMERALS))
    return LanguageWords(grammar, negations, numerals, name == "de")


_ALL_NEGATIONS = """
not no never none nobody nothing nowhere neither nor without cannot non nicht kein keine keinen keinem keiner
keines nie niemals niemand nichts ohne weder ne pas jamais aucun aucune sans ni rien personne nunca jamás sin
tampoco nada nadie ningún ninguna ninguno senza né mai nessun nessuna nessuno não sem nem nenhum nenhuma niet
geen nooit zonder noch inte ingen inget aldrig utan ikke ikkje aldri uten uden ei eivät en emme ette eikä
ilman не нет ни без никогда никто ничего ні немає bez nigdy żaden není nejsou žádný nincs nélkül nu fără değil
yok hayır δεν μη μην χωρίς όχι לא אין בלי לָא لا لم لن ليس ليست غير بدون नहीं न मत बिना tidak bukan tanpa
không chưa 不 没 沒 無 无 非 未 否 勿 莫 毋 안 못
"""
NEGATIONS = frozenset(_ALL_NEGATIONS.split())
"""Words that turn a sentence into its opposite, in folded case."""

NEGATING_BEGINNINGS = (
    "un",
    "in",
    "il",
    "im",
    "ir",
    "dis",
    "non",
    "mis",
    "anti",
    "de",
    "miss",
    "nicht",
)
"""Prefixes that turn a word into its opposite."""

_ALL_NUMERALS = """
zero two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion first
second third fourth fifth sixth seventh eighth ninth tenth twice half quarter dozen eins zwei drei vier fünf
sechs sieben acht neun zehn elf zwölf zwanzig dreißig hundert tausend erste zweite dritte vierte fünfte erster
zweiter dritter ersten zweiten dritten zéro deux trois quatre cinq sept huit neuf dix onze douze vingt trente
mille premier première deuxième uno dos tres cuatro cinco seis siete ocho nueve diez once doce veinte cien
primero segundo tercero tre quattro cinque sette otto nove dieci cento dois três quatro dez
"""
NUMERALS = frozenset(_ALL_NUMERALS.split())
"""Numbers written as words, in folded case."""

_GRAMMATICAL = """
a an the this that these those but if then than so as of to in on at by for from with into onto about between
through during it its he she they them his her their we our you your i me my us who which what whose whom when
where why how is are was were be been being am has have had having do does did done there here also such some
just very too much many own same because since upon per via g s re ve ll d m der die das den dem des ein eine
einen einem einer eines wenn dann als wie von zu auf bei für aus mit durch um er sie es wir ihr ich mich uns
sein seine ihre ihren dass daß ob ist sind war waren wird werden wurde wurden hat haben hatte auch noch sehr
im zum zur vom le la les l un une du de si que qui quoi dont où ce cet cette ces il elle ils elles nous vous
je son sa ses leur leurs au aux en dans par pour sur avec est sont était été être ont avait très aussi se el
los las una unos unas como del al por para con su sus era fue ser ha han muy también lo gli uno che di da
della dei delle alla nel nella è sono anche os uma dos no na nos nas ao à é são foi com também het een maar
dat van te op voor met aan zijn werd och att det som på är av til og
"""
GRAMMATICAL = frozenset(_GRAMMATICAL.split())
"""Words of grammar, that say nothing alone, in folded case."""

_SIZES = """
xs xxs xl xxl xxxl small medium large mini maxi midi petite queen king single double twin klein mittel groß petit
moyen grand petite moyenne grande pequeño pequeña mediano mediana piccolo medio
"""
SIZES = frozenset(_SIZES.split())
"""Sizes in words, in folded case."""

_UNITS = "kg mg ml cl dl cm mm km gb tb mb kb oz lb lbs ft kw hp hz khz mhz ghz kwh mah inch pcs"
UNITS = frozenset(_UNITS.split())
"""Units of measurement that are no other words, in folded case."""
