"""Words that mean the same wherever they stand, in a few languages: negations, numerals, sizes, those of grammar."""

from __future__ import annotations

_NEGATIONS = """
not no never none nobody nothing nowhere neither nor without cannot non nicht kein keine keinen keinem keiner
keines nie niemals niemand nichts ohne weder ne pas jamais aucun aucune sans ni rien personne nunca jamás sin
tampoco nada nadie ningún ninguna ninguno senza né mai nessun nessuna nessuno não sem nem nenhum nenhuma niet
geen nooit zonder noch inte ingen inget aldrig utan ikke ikkje aldri uten uden ei eivät en emme ette eikä
ilman не нет ни без никогда никто ничего ні немає bez nigdy żaden není nejsou žádný nincs nélkül nu fără değil
yok hayır δεν μη μην χωρίς όχι לא אין בלי לָא لا لم لن ليس ليست غير بدون नहीं न मत बिना tidak bukan tanpa
không chưa 不 没 沒 無 无 非 未 否 勿 莫 毋 안 못
"""  # noqa: RUF001 - they are letters
NEGATIONS = frozenset(_NEGATIONS.split())
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

_NUMERALS = """
zero two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion first
second third fourth fifth sixth seventh eighth ninth tenth twice half quarter dozen eins zwei drei vier fünf
sechs sieben acht neun zehn elf zwölf zwanzig dreißig hundert tausend erste zweite dritte vierte fünfte erster
zweiter dritter ersten zweiten dritten zéro deux trois quatre cinq sept huit neuf dix onze douze vingt trente
mille premier première deuxième uno dos tres cuatro cinco seis siete ocho nueve diez once doce veinte cien
primero segundo tercero tre quattro cinque sette otto nove dieci cento dois três quatro dez
"""
NUMERALS = frozenset(_NUMERALS.split())
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

_QUALIFYING = """
very too much many some such same own just also only more most but because if whose sehr auch noch wenn ob très aussi
si muy también até muito all alla con den era hat par pour son van war
"""
QUALIFYING = frozenset(_QUALIFYING.split())
"""Words of grammar that say how much, how far or on what condition, or more in another language, in folded case."""

JOINING = frozenset(("and", "und", "et", "y", "e", "och", "og"))
"""Words that join two others, in folded case; "or" is another matter."""

_SIZES = """
xs xxs xl xxl xxxl small medium large mini maxi midi petite queen king single double twin klein mittel groß petit
moyen grand petite moyenne grande pequeño pequeña mediano mediana piccolo medio
"""
SIZES = frozenset(_SIZES.split())
"""Sizes in words, in folded case."""

_UNITS = "kg mg ml cl dl cm mm km gb tb mb kb oz lb lbs ft kw hp hz khz mhz ghz kwh mah inch pcs"
UNITS = frozenset(_UNITS.split())
"""Units of measurement that are no other words, in folded case."""

ENDINGS = ("s", "es", "d", "ed", "ing", "ly", "n", "en", "e", "er", "em", "t")
"""Endings that a word takes without becoming another word."""
