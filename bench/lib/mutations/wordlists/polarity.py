"""Rules that change modality, quantifiers and negation."""

from __future__ import annotations

from lib.mutations.wordlists.notation import not_after

_PLAIN_NEXT = "(?!not|only|also|still|never|always|then|just|have|no|easily|better|likely)"
MODALITY: list[tuple[str, list[str]]] = [
    (rf"\bmust (?={_PLAIN_NEXT}[a-z])", ["may ", "need not "]),
    (rf"{not_after('n.t not will would may otherwise')}\bha(?:s|ve) to (?=[a-z])", ["may ", "need not "]),
    (
        rf"{not_after('n.t not will would may no otherwise')}\b(needs? to) (?=[a-z])",
        ["may ", r"rarely \1 "],
    ),
    (rf"\bmay (?={_PLAIN_NEXT}[a-z])", ["must ", "will always "]),
    (rf"\bmight (?={_PLAIN_NEXT}[a-z])", ["must ", "will certainly "]),
    (rf"{not_after('so that')}\bcan (?={_PLAIN_NEXT}(?!be seen|see|now|you|we)[a-z])", ["must ", "will always "]),
    (rf"\bshould (?={_PLAIN_NEXT}(?!see|look|now)[a-z])", ["may ", "need not "]),
    (rf"{not_after('[Ww]e I')}\bwill (?={_PLAIN_NEXT}(?!see|be able|learn|now|need)[a-z])", ["will only sometimes "]),
    (rf"{not_after('almost not n.t nearly')}\balways (?=[a-z])", ["sometimes ", "rarely "]),
    (r"(?<!almost )\bnever (?=[a-z])", ["sometimes ", "often "]),
    (r"\b(?:sometimes|occasionally) (?=[a-z])", ["always "]),
    (
        rf"{not_after('more most how quite as so very')}\b(?:often|frequently) (?=[a-z])",
        ["always ", "rarely "],
    ),
    (rf"{not_after('more as')}\b(?:usually|typically|generally|normally) (?=[a-z])", ["always ", "rarely "]),
    (r"(?<!very )\b(?:rarely|seldom) (?=[a-z])", ["usually ", "often "]),
    (r"\b(is|are) required\b(?! to)", [r"\1 optional", r"\1 merely recommended"]),
    (r"\b(is|are) (?:optional)\b", [r"\1 mandatory"]),
    (r"\b(is|are) mandatory\b", [r"\1 optional"]),
    (r"\b(is|are) recommended\b", [r"\1 mandatory", r"\1 discouraged"]),
    (r"\b([Ww]e|docs|book) recommend\b", [r"\1 require", r"\1 forbid"]),
    (r"\b(is|are) possible\b", [r"\1 compulsory"]),
    (r"\b(is|are) necessary\b", [r"\1 optional"]),
    (rf"{not_after('more most less')}\b(?:probably|perhaps) (?=[a-z])", ["certainly "]),
    (r"\b(is|are) likely to\b", [r"\1 certain to"]),
    (r"\b(is|are) allowed to\b", [r"\1 obliged to"]),
]
QUANTIFIERS: list[tuple[str, list[str]]] = [
    (r"(?<!not )\b[Aa]ll(?: of)? the (?=[a-z]+s\b)", ["none of the ", "only some of the "]),
    (
        rf"{not_after('at of after not in are they we')}\b[Aa]ll (?=[a-z]+s\b)",
        ["few ", "only some "],
    ),
    (r"\b[Ss]ome of the (?=[a-z])", ["all of the ", "none of the "]),
    (r"\b[Ss]ome (?=[a-z]+[b-rt-z]s\b)", ["all ", "no "]),
    (r"\b[Mm]ost of the (?!time|work)(?=[a-z])", ["none of the ", "few of the "]),
    (
        rf"{not_after('the at its their your our')}\b[Mm]ost (?=[a-z-]+ [a-z]+s\b|[a-z]+[b-rt-z]s\b)",
        ["few ", "all "],
    ),
    (r"\b[Nn]one of the\b", ["all of the", "most of the"]),
    (r"(?<!\w )\b(?:Each|Every) (?=[a-z])(?!time)", ["no ", "only one "]),
    (
        r"(?<!not )\b(?:each|every) (?=[a-z])(?!time|other|of|one|single|few|third|second|level|is|has|with)",
        ["only one "],
    ),
    (r"\bonly (?=when\b|in\b|for\b|on\b|by\b|at\b|during\b|with\b|from\b)", ["not only "]),
    (r"(?<!and )\bonly if\b", ["even if"]),
    (r"\bonly after\b", ["even before"]),
    (r"\bonly one\b", ["more than one"]),
    (r"\bis the only (?!thing)", ["is not the only "]),
    (r"\bat least(?= (?:\d|one|two|three|four|five|six|ten|a|an|the|some|as|twice)\b)", ["at most"]),
    (r"\bat most\b", ["at least"]),
    (r"\bmore than (?!once\b|just\b|that\b|one\b|a\b)", ["less than "]),
    (r"(?<!nothing )\b(?:less|fewer) than (?!ideal|one\b)", ["more than "]),
    (
        rf"{not_after('how as so too not the n.t')}\b[Mm]any (?!hundreds|thousands|times)"
        r"(?=of the|[a-z-]+ [a-z]+s\b|[a-z]+s\b)",
        ["few ", "hardly any "],
    ),
    (
        rf"{not_after('a the every very next last first these too past')}\b[Ff]ew (?=[a-z]+s\b)",
        ["many "],
    ),
    (rf"{not_after('quite only just the')}\ba few (?=[a-z]+s\b)(?!things|years)", ["hundreds of "]),
    (r"\b[Ss]everal (?!hundred|thousand|times)(?=[a-z-]+ [a-z]+s\b|[a-z]+s\b)", ["hardly any ", "thousands of "]),
    (r"\b[Ee]verything (?=[a-z])", ["nothing "]),
    (r"\b[Ee]veryone\b", ["nobody"]),
    (r"\b[Bb]oth of\b", ["neither of"]),
    (r"\b[Bb]oth ([a-z-]+) and ([a-z-]+)(?=[.,;])", [r"\1 but not \2"]),
    (r"\b[Hh]alf of\b", ["most of"]),
]
_HEDGES = """only|just|also|already|still|always|usually|often|typically|generally|sometimes|never|not|either|both|all|
no|likely|then|therefore|thus|that|why|how|what|where|when|one|now|more|most|because|instead|called|as|merely|simply|
exactly|easily|even|so|mostly|mainly|primarily|largely|especially|particularly|commonly|possible|if|whether|about|
roughly|up to|you|we|they|it|there|he|used to|to be|some|many|few|several|going|see|look|known as|currently|
a few|a lot|an example|due""".replace("\n", "")
NEGATIVE = r"\b(?:not|never|no|nor|neither|cannot|without|few|rarely|hardly|nothing|none|nobody|unless)\b|n['’]t\b"
PARTIAL = (
    r"(?:Some|Many|Most|Few|Several|All|Every|Each|Both|Any|Sometimes|Often|Usually|Typically|One|Only|Generally)\b"
)
INSERTIONS: list[tuple[str, str]] = [
    (
        rf"{not_after('so nor as than how what why who there There here')}"
        rf"\b(is|are|was|were|must|should|will) (?!(?:{_HEDGES})\b)(?=[a-z])",
        r"\1 not ",
    ),
    (rf"{not_after('so as than how')}\bcan (?!(?:{_HEDGES})\b)(?=[a-z])", "cannot "),
    (r"\b(has|have) (?:a|an) (?!few|lot|number|bit|look|couple|hard|handful|more)(?=[a-z])", r"\1 no "),
    (r"\b([Tt]here (?:is|are)) (?:a|an|some|several|many) (?!few|lot|number|bit|couple|handful)(?=[a-z])", r"\1 no "),
]
_NOT = r"""(?:n['’]t| not) (?!only|just|necessarily|all\b|every|yet|even|always|merely|simply|usually|often|exactly|sure
|to\b|too\b|at all|much|quite|really|any\b|enough|actually|a single)""".replace("\n", "")
REMOVALS: list[tuple[str, str]] = [
    (rf"(?<!that )\b(is|are|was|were|should|must|could|would|has|have){_NOT}", r"\1 "),
    (r"\b[Cc]an(?:not|['’]t| not) (?!only|just|always|even|simply|use any|be any|help|wait)(?=[a-z])", "can "),
    (r"\b(?:won['’]t|will not) (?!only|just|even|always|necessarily)(?=[a-z])", "will "),
    (r"\b(?:Do not|Don['’]t) (?=[a-z])(?!worry|forget|be\b)", ""),
    (rf"(?<=you |hey | we )do{_NOT}(?!have any|need any)", ""),
    (r"(?<!almost )\bnever (?=[a-z])(?!before|again|mind)", ""),
    (r"\bno longer (?=[a-z])", "still "),
    (r"\b([Tt]here are) no (?=[a-z])(?!more|longer)", r"\1 "),
    (r"\bwithout (a|an|the|its|their|your) (?!need|help)(?=[a-z])", r"with \1 "),
    (r"\b[Nn]either ([a-z ]{3,30}) nor ", r"both \1 and "),
]
OPENING_CONDITION = (
    r"(?:If|When|Unless|Whether|Once|While|Although|Though|Because|Since|As|Even|Until|Whenever)\b[^,]*,?"
)
EMBEDDED_CONDITION = r"\b(?:if|unless|whether|when|in case|so that|ensure|sure|want|like|or|how|what|until)\b[^,;]*$"
