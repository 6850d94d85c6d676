"""Words too common to search by, one compact list per language. Matched after case folding and before stemming."""

from __future__ import annotations

ENGLISH_CONTRACTIONS = frozenset(("d", "ll", "m", "re", "s", "ve"))

_ENGLISH = """
a about after again all also am an and any are as at be because been before being between both but by can
could did do does doing done each else ever few for from get gets getting got had has have having he her here
hers herself him himself his how i if in into is it its itself just like may me might more most much must my
myself no nor not of off on once only or other our ours ourselves out over own rather same shall she should
since so some such than that the their theirs them themselves then there these they this those though through
to too under until up upon us very was we were what when where whether which while who whom whose why will
with within without would yet you your yours yourself yourselves
"""
_GERMAN = """
aber alle allem allen aller alles als also am an ander andere anderen anderer anderes auch auf aus bei beim
bin bis bist da dadurch daher damit dann das dass dein deine dem den denn der des dessen deren dich die dies
diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch
euer eure fur für hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist
ja jede jedem jeden jeder jedes jene jetzt kann kein keine keinem keinen keiner konnen können mehr mein meine
mich mir mit muss nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem seinen seiner selbst sich
sie sind so solche soll sondern sonst uber über um und uns unser unsere unter vom von vor wann war waren warum
was weil welche welchem welchen welcher welches wem wen wenn wer werden wie wieder wir wird wo wurde wurden zu
zum zur zwar zwischen
"""
_SPANISH = """
a al algo algun alguna algunas alguno algunos ante antes aqui aquí asi así aun aunque cada como cómo con
contra cual cuál cuales cuando cuándo cuanto cuánto de del desde donde dónde dos el él ella ellas ellos en
entre era eran eres es esa esas ese eso esos esta está estan están estas este esto estos fue fueron ha han
hasta hay la las le les lo los mas más me mi mí mis mucho muy nada ni no nos nosotros nuestra nuestro o os
otra otras otro otros para pero poco por porque pues que qué quien quién se sea segun según ser si sí sido sin
sobre son su sus tal también tambien tan tanto te tiene tienen todo todos tu tú tus un una unas uno unos usted
vosotros y ya yo
"""
_FRENCH = """
a afin ai ainsi alors apres après as au aucun aucune aussi autre autres aux avec avoir avait bien car ce ceci
cela celle celles celui ces cet cette ceux chaque chez ci comme comment dans de depuis des donc dont du elle
elles en encore entre es est et etaient étaient etait était etre être eu eux fait ici il ils je jusque la là
le les leur leurs lors lui ma mais me meme même mes moi moins mon ne ni nos notre nous on ont ou où par parce
pas peu peut plus pour pourquoi puis qu quand que quel quelle quelles quels qui quoi sa sans se sera ses si
son sont sous sur ta tandis te tes toi ton tous tout toute toutes tres très tu un une vers vos votre vous y
"""
_ITALIAN = """
a ad agli ai al alla alle allo anche ancora c che chi ci come con cosi così cui da dagli dai dal dalla dalle
dallo degli dei del della delle dello di dove e è ed era erano essere fra gli ha hai hanno ho i il in io la le
lei li lo loro lui ma me mi mia mie mio miei ne negli nei nel nella nelle nello noi non nostra nostro o ogni
per perche perché piu più poi quale quali quando quanto quella quelle quelli quello questa queste questi
questo qui se sei si sì sia siamo sono sta su sua sue sugli sui sul sulla sulle suo suoi te ti tra tu tua tuo
tutti tutto un una uno vi voi
"""
_PORTUGUESE = """
a ao aos aquela aquele aquilo as às ate até com como da das de dela dele deles depois do dos e é ela elas ele
eles em entre era essa esse esta está estas este estes eu foi foram ha há isso isto ja já la lá lhe mais mas
me mesmo meu meus minha muito na nas nem no nos nossa nosso num numa o os ou para pela pelas pelo pelos por
porque qual quando que quem sao são se sem ser seu seus so só sua suas tambem também te tem têm todo todos tu
um uma você
"""
_DUTCH = """
aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een en er ge geen
haar had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je kan kon maar me meer men met mij
mijn moet na naar niet niets nog nu of om omdat onder ons ook op over reeds te tegen toch toen tot u uit uw
van veel voor waarom wanneer want waren was wat welke werd wezen wie wil worden wordt zal ze zich zij zijn zo
zonder zou
"""

_LISTS = {
    "english": _ENGLISH,
    "german": _GERMAN,
    "spanish": _SPANISH,
    "french": _FRENCH,
    "italian": _ITALIAN,
    "portuguese": _PORTUGUESE,
    "dutch": _DUTCH,
}


def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language, case-folded; empty where no list is kept."""
    return frozenset(word.casefold() for word in _LISTS.get(language, "").split())
