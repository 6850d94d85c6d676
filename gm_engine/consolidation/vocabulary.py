"""The words that consolidation must know: what negates, counts, dates, directs, and what may be looked through."""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


NEGATIONS = _set(
    # English, German, French, Spanish, Italian, Portuguese
    "not no never neither nor none nothing nobody nowhere without hardly barely "
    "nicht kein keine keinen keinem keiner keines nie niemals ohne nichts niemand weder "
    "ne pas jamais aucun aucune sans rien personne "
    "nunca jamás ningún ninguno ninguna sin nada nadie tampoco "
    "non mai senza nessuno nessuna "
    "não nem sem nenhum nenhuma "
    # Dutch, Swedish, Polish, Turkish, Russian, Greek, Arabic, Hebrew, Hindi
    "niet geen nooit inte ej aldrig bez değil yok не нет без никогда δεν μη لا ليس لم لن לא אין नहीं"
)

UNKNOWN_CONTRACTIONS = {"can't": "can", "cannot": "can", "won't": "will", "shan't": "shall", "ain't": "be"}
"""Negated words whose head is not what is left without `n't`."""

LIGHT_WORDS = _set("a an the this that these those it its there also just really quite simply please do")
"""What a sentence says with and without. `do` is an auxiliary; `does` and `did` are other tenses of it."""

LEMMAS = {
    "am": "be",
    "are": "be",
    "is": "be",
    "were": "was",
    "has": "have",
    "does": "do",
    "i'm": "be",
    "it's": "be",
    "that's": "be",
    "there's": "be",
}

GUARDED_WORDS = _set(
    # directions and order
    "to from by with in into out onto off up down over under above below before after until till since during between "
    "toward towards against for than then instead "
    # quantity and exception
    "all every each any some both only most least more less fewer enough almost about except unless if whether "
    # modality, tense and person
    "must should shall may might can could will would need ought was did had been being used going be have "
    "i you he she we they me him her us them my your his our their mine yours ours theirs who whom whose what when "
    "where why how which "
    # connection
    "and or but because so although though however "
    # the most frequent of the same in German, French and Spanish
    "und oder aber nur immer vor nach mit zu von bei für gegen wenn muss soll kann darf war "
    "et ou mais seulement toujours avant après avec pour contre si doit peut était "
    "y o pero sólo solo siempre antes después con para contra si debe puede era"
)

_PAIRS = (
    "enabled disabled, enable disable, open closed, opened closed, opens closes, start stop, started stopped, "
    "allow deny, allow forbid, allowed forbidden, allowed denied, accept reject, accepted rejected, "
    "increase decrease, increased decreased, add remove, added removed, true false, yes no, high low, higher lower, "
    "first last, always never, required optional, mandatory optional, public private, active inactive, online offline, "
    "success failure, succeeded failed, pass fail, passed failed, passes fails, like dislike, likes dislikes, "
    "love hate, loves hates, win lose, won lost, buy sell, internal external, minimum maximum, min max, left right, "
    "early late, earlier later, encrypted unencrypted, best worst, better worse, fast slow, faster slower, "
    "known unknown, valid invalid, available unavailable, stable unstable, safe unsafe, possible impossible, "
    "correct incorrect, complete incomplete, visible hidden, manual automatic, manually automatically, "
    "present absent, full empty, hot cold, up down, before after, above below, until after, until from, "
    "daily weekly, weekly monthly, daily monthly, morning evening, "
    "morning afternoon, approved rejected, agree disagree, agrees disagrees, supported unsupported, "
    "deprecated supported, keep delete, keep remove, include exclude, included excluded, includes excludes"
)


def _opposites(pairs: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in pairs.split(","):
        one, other = pair.split()
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


OPPOSITES = _opposites(_PAIRS)
"""Words that turn a statement around, each with its counterparts."""

_COUNTED = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
_ROUND = "thirty forty fifty sixty seventy eighty ninety"
_AMOUNTS = (
    "hundred hundreds thousand thousands million millions billion dozen half once twice thrice double triple quarter "
    "second third fourth fifth sixth"
)
_FROM_TWO = (
    "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "dos tres cuatro cinco seis siete ocho nueve diez",
    "deux trois quatre cinq six sept huit neuf dix",
)


def _number_words() -> dict[str, str]:
    found = {word: word for word in _AMOUNTS.split()}
    for words in _FROM_TWO:
        found.update((word, str(number)) for number, word in enumerate(words.split(), 2))
    found.update((word, str(10 * number)) for number, word in enumerate(_ROUND.split(), 3))
    found.update((word, str(number)) for number, word in enumerate(_COUNTED.split()))
    return found


NUMBER_WORDS = _number_words()
"""Words that count, each with a key that equal numbers share."""

_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_MONTHS = "january february march april may june july august september october november december"
_OTHER_DATES = (
    "mon tue tues wed thu thur thurs fri sat sun jan feb mar apr jun jul aug sep sept oct nov dec "
    "today tomorrow yesterday tonight noon midnight "
    "montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz mai juni juli oktober dezember "
    "heute morgen gestern lunes martes miércoles jueves viernes sábado domingo enero febrero marzo abril mayo junio "
    "julio agosto septiembre octubre noviembre diciembre hoy mañana ayer "
    "lundi mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril juin juillet août septembre "
    "octobre novembre décembre demain hier"
)
DATE_WORDS = {word: word for word in f"{_DAYS} {_MONTHS} {_OTHER_DATES}".split()} | {
    f"{day}s": day for day in _DAYS.split()
}
"""Days, months and the words for them, as the key of a date."""
