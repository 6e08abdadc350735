"""Function words, and the words that may come before and after a phrase."""

from __future__ import annotations

from lib.mutations.wordlists.notation import word_set

DETERMINERS = word_set(
    "the a an this that these those each every its their your our his her my any another some one no"
)
PRONOUNS = word_set("it they you we he she this these that those there everyone nobody both such none everything")
AUXILIARIES = word_set(
    "is are was were be been being am has have had do does did can could will would shall should may might must cannot"
)
PREPOSITIONS = word_set(
    """of in on at by for with without from to into onto over under above below between among through during before
    after since until against toward towards via per within inside outside beyond across along around behind beside
    despite except like near off out up down upon about as than then"""
)
CONJUNCTIONS = word_set("and or but nor so yet if when while because although though unless whereas whether where once")
RELATIVES = word_set("that which who whom whose what how why")
ADVERBS = word_set(
    """also only just even still already again often always never sometimes usually typically generally rarely seldom
    not now here there too very more most less least much many few all both either neither quite rather almost nearly
    instead therefore thus hence however later soon together first next last ever else well far back away away today
    itself themselves yourself ourselves himself others another same other such own several enough"""
)
FUNCTION_WORDS = DETERMINERS | PRONOUNS | AUXILIARIES | PREPOSITIONS | CONJUNCTIONS | RELATIVES | ADVERBS
SUBORDINATORS = word_set(
    """if when while because although though unless whereas whether once as since until after before where that so
    either neither without"""
)
COMMON_ADJECTIVES = word_set(
    """usual real new old different whole good bad common main small large big long short high low simple single certain
    possible given particular specific various similar entire right wrong full previous current following better best
    great little important useful extra additional original actual final general second third two three four five six
    ten special true false free hard easy close early late normal typical standard exact correct valid known separate
    complete empty larger smaller higher lower faster slower wide narrow strong weak fast slow young great nice clear
    necessary required available default"""
)
BEFORE_A_VERB = word_set("to can will must should may might could would you we they not and or cannot")
BEFORE_AN_OBJECT = word_set("the a an its it you us their your each every")
CLOSING = word_set(
    """when if because before after during while so but without unless until in on at by with between around along
    across through over under for from as directly that to into onto via"""
)
EXTENDING = word_set("of for with in on at between from")
LINKS = {
    "from": ("to", "into"),
    "replaces": ("with",),
    "replace": ("with",),
    "converts": ("to", "into"),
    "convert": ("to", "into"),
    "turns": ("into",),
    "turn": ("into",),
    "maps": ("to",),
    "map": ("to",),
    "transforms": ("into",),
    "adds": ("to",),
    "add": ("to",),
    "moves": ("into",),
    "move": ("into",),
    "prefers": ("over", "to"),
}
POINTING = (
    r"(?:This|That|These|Those|It|They|He|She|We|Let|In this|Here|Both|Such|Then|Next|Now|However|For example|See|Its|"
    r"Their|The (?:same|following|next|previous|first|second|last|other|result|above)|So|But|And|Also|As)\b"
    r"|.*\b(?:Listing|Chapter|Figure|Table|below|above|this chapter|this section|we|I)\b"
)
