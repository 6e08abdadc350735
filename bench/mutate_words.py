"""Word lists of the claim generator; they owe nothing to the checker that is measured with them."""

from __future__ import annotations


def table(text: str) -> list[tuple[str, str]]:
    """Pairs written `one/other`, separated by white space, `_` for a space."""
    return [tuple(part.replace("_", " ") for part in pair.split("/"))[:2] for pair in text.split()]  # type: ignore[misc]


def words(text: str) -> frozenset[str]:
    return frozenset(part.replace("_", " ") for part in text.split())


def phrases(text: str) -> str:
    """A pattern for any of several phrases, separated by white space, `_` for a space."""
    return "|".join(text.split()).replace("_", " ")


def not_after(text: str) -> str:
    """A pattern that holds where none of these words stands before."""
    return "".join(f"(?<!{word} )" for word in text.split())


DETERMINERS = words("the a an this that these those each every its their your our his her my any another some one no")
PRONOUNS = words("it they you we he she this these that those there everyone nobody both such none everything")
AUXILIARIES = words(
    "is are was were be been being am has have had do does did can could will would shall should may might must cannot"
)
PREPOSITIONS = words(
    """of in on at by for with without from to into onto over under above below between among through during before
    after since until against toward towards via per within inside outside beyond across along around behind beside
    despite except like near off out up down upon about as than then"""
)
CONJUNCTIONS = words("and or but nor so yet if when while because although though unless whereas whether where once")
RELATIVES = words("that which who whom whose what how why")
ADVERBS = words(
    """also only just even still already again often always never sometimes usually typically generally rarely seldom
    not now here there too very more most less least much many few all both either neither quite rather almost nearly
    instead therefore thus hence however later soon together first next last ever else well far back away away today
    itself themselves yourself ourselves himself others another same other such own several enough"""
)
FUNCTION_WORDS = DETERMINERS | PRONOUNS | AUXILIARIES | PREPOSITIONS | CONJUNCTIONS | RELATIVES | ADVERBS
SUBORDINATORS = words(
    """if when while because although though unless whereas whether once as since until after before where that so
    either neither without"""
)

IRREGULAR = {
    base: (past, participle, gerund)
    for base, past, participle, gerund in (
        line.split()
        for line in """
        be was been being
        become became become becoming
        begin began begun beginning
        break broke broken breaking
        bring brought brought bringing
        build built built building
        buy bought bought buying
        catch caught caught catching
        choose chose chosen choosing
        come came come coming
        cut cut cut cutting
        do did done doing
        draw drew drawn drawing
        drive drove driven driving
        drop dropped dropped dropping
        fall fell fallen falling
        feed fed fed feeding
        feel felt felt feeling
        find found found finding
        fit fitted fitted fitting
        forbid forbade forbidden forbidding
        forget forgot forgotten forgetting
        get got got getting
        give gave given giving
        go went gone going
        grow grew grown growing
        have had had having
        hide hid hidden hiding
        hit hit hit hitting
        hold held held holding
        keep kept kept keeping
        know knew known knowing
        lead led led leading
        leave left left leaving
        let let let letting
        lie lay lain lying
        lose lost lost losing
        make made made making
        map mapped mapped mapping
        mean meant meant meaning
        occur occurred occurred occurring
        omit omitted omitted omitting
        permit permitted permitted permitting
        plan planned planned planning
        put put put putting
        read read read reading
        rise rose risen rising
        run ran run running
        say said said saying
        see saw seen seeing
        sell sold sold selling
        send sent sent sending
        set set set setting
        show showed shown showing
        shrink shrank shrunk shrinking
        shut shut shut shutting
        sit sat sat sitting
        split split split splitting
        stand stood stood standing
        stop stopped stopped stopping
        submit submitted submitted submitting
        swap swapped swapped swapping
        take took taken taking
        tell told told telling
        think thought thought thinking
        transfer transferred transferred transferring
        trap trapped trapped trapping
        wrap wrapped wrapped wrapping
        unwrap unwrapped unwrapped unwrapping
        write wrote written writing
        """.strip().splitlines()
    )
}

ONE_WAY_VERBS = words(
    """absorb accept access activate add affect allow attract borrow bound build call carry catch cause change check
    choose clear close command compute configure consume contain control copy create cut define delete deliver demand
    depend destroy detect determine discard display drive emit enable encode estimate evaluate exceed execute expect
    extend feed find follow forbid form generate give govern grip guide handle hit hold hide ignore implement import
    improve include increase inherit inspect invoke keep lack launch lead lift limit load lock lower make manage map
    measure minimise modify monitor move need observe override own parse pass perform place plan predict press prevent
    process produce protect provide publish pull push raise reach read receive recommend reduce reject release remove
    render replace represent require reset resist return reverse run save scan see send serve set show sort stabilise
    start stop store support take tell test throw track trigger turn update use validate watch wrap write yield
    have describe cover declare state treat avoid introduce tolerate suit assign accelerate adapt amplify analyse apply
    approach assume bear bend bridge capture clip collect convert correct crush damage damp delay dominate exploit
    express fill filter fix freeze imitate impose inform integrate know learn list mark miss obey offer open order
    pay penalise preserve record recover repeat rotate sample satisfy scale select shape shorten simplify solve specify
    spread squeeze supply surround swing teach train transmit weigh wrap transfer allocate print borrow annotate own"""
)
OTHER_VERBS = words(
    """act agree aim apply appear arise ask assume avoid balance become begin behave belong bend bring come compare
    compile connect consider converge cost cover deal decide describe differ divide do drop equal explain face fail fall
    fit fix flow gain get go grow happen have help ignore introduce join know learn leave let lie link live look lose
    match matter mean meet occur offer open operate pay play point prefer print prove put recover refer rely remain
    repeat resolve respond rest result rise rotate say scale seem select separate settle shift shrink sit slide slow
    solve specify split stand stay step succeed suffer suggest suit sum swap swing tend think touch travel treat try
    vary visit wait walk want weigh work"""
)

ONE_WAY_LINKS = {
    "depends": "on",
    "relies": "on",
    "belongs": "to",
    "leads": "to",
    "refers": "to",
    "points": "to",
    "comes": "from",
    "arises": "from",
    "results": "in",
    "acts": "on",
    "applies": "to",
    "responds": "to",
    "consists": "of",
    "runs": "on",
}
ONE_WAY_PLACES = words("by in on above below before after from into inside onto")

CLASS_NOUNS = words(
    """trait type struct enum method function macro crate command file option plugin theme field property keyword page
    folder directory component hook node topic package module operator library tool attribute variable value parameter
    argument string object tag key syntax prop preset config line pattern loop chapter section version interface robot
    sensor model algorithm matrix statement block expression variant instance directive element class API CLI"""
)
VAGUE_NOUNS = words(
    """thing things way ways example examples case cases part parts kind kinds sort number value values amount result
    results reason reasons rest lot time times day point points fact name names problem problems question side end
    beginning top bottom other others same first second last left right following above below previous next current
    new old own only main whole entire most more few many best worst better user users reader chapter section book page
    code order form set list line lines place bit half hand word words sense world idea goal purpose"""
)
NEAR_SYNONYMS = [
    words(group)
    for group in (
        "robot machine humanoid body",
        "function method closure procedure routine operation call",
        "crate package library dependency",
        "docs documentation document documents doc page pages site website",
        "file files folder directory path source",
        "error errors failure fault problem exception",
        "program application app binary executable software code project",
        "value values data item items element elements variable variables content",
        "option options setting settings property properties field fields config configuration argument parameter",
        "type struct enum class trait",
        "controller control regulator",
        "sensor sensors camera detector",
        "position location place pose posture",
        "person human people operator worker",
        "speed velocity rate",
        "model network policy",
        "task job work goal",
        "arm hand gripper limb finger",
        "foot feet leg",
        "force load weight torque",
        "string text slice",
        "command instruction statement line",
    )
]
NOT_NAMES = words(
    """Listing Listings Chapter Chapters Figure Figures Table Tables Section Sections Appendix Step Steps Equation Part
    Exercise Example Note Warning Tip OK I AND OR NOT TODO January February March April May June July August September
    October November December Monday Tuesday Wednesday Thursday Friday Saturday Sunday"""
)

COMMON_ADJECTIVES = words(
    """usual real new old different whole good bad common main small large big long short high low simple single certain
    possible given particular specific various similar entire right wrong full previous current following better best
    great little important useful extra additional original actual final general second third two three four five six
    ten special true false free hard easy close early late normal typical standard exact correct valid known separate
    complete empty larger smaller higher lower faster slower wide narrow strong weak fast slow young great nice clear
    necessary required available default"""
)
BEFORE_A_VERB = words("to can will must should may might could would you we they not and or cannot")

NUMBER_WORDS = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split()
    )
} | {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "hundred": 100, "thousand": 1000}
DIGIT_WORDS = {value: word for word, value in NUMBER_WORDS.items()} | {
    100: "one hundred",
    1000: "one thousand",
    2000: "two thousand",
    10000: "ten thousand",
    100000: "one hundred thousand",
    1000000: "one million",
}

UNIT_FAMILIES = [
    line.replace("_", "\0").split()
    for line in """
    ns µs ms s min h
    nanoseconds microseconds milliseconds seconds minutes hours days weeks months years
    nanosecond microsecond millisecond second minute hour day week month year
    mm cm m km
    millimetres centimetres metres kilometres
    millimeters centimeters meters kilometers
    millimetre centimetre metre kilometre
    mg g kg
    grams kilograms tonnes
    mN N kN
    N·m kN·m
    Hz kHz MHz
    bits bytes kilobytes megabytes gigabytes
    bit byte kilobyte megabyte gigabyte
    kB MB GB TB
    KB MB GB TB
    KiB MiB GiB
    mW W kW
    mV V kV
    mA A
    J kJ MJ
    Wh kWh
    Pa kPa MPa
    degrees radians
    °C K
    km/h m/s
    mm/s cm/s
    °/s rad/s
    watts kilowatts megawatts
    volts millivolts
    newtons kilonewtons
    inches feet miles
    """.replace("\0", " ")
    .strip()
    .splitlines()
]
CONVERSIONS = [
    ("s", "ms", 1000),
    ("ms", "µs", 1000),
    ("seconds", "milliseconds", 1000),
    ("minutes", "seconds", 60),
    ("hours", "minutes", 60),
    ("days", "hours", 24),
    ("m", "cm", 100),
    ("cm", "mm", 10),
    ("m", "mm", 1000),
    ("km", "m", 1000),
    ("kg", "g", 1000),
    ("kN", "N", 1000),
    ("kHz", "Hz", 1000),
    ("MHz", "kHz", 1000),
    ("kW", "W", 1000),
    ("V", "mV", 1000),
    ("A", "mA", 1000),
    ("kJ", "J", 1000),
    ("kWh", "Wh", 1000),
    ("kPa", "Pa", 1000),
    ("MPa", "kPa", 1000),
]

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
BEFORE_AN_OBJECT = words("the a an its it you us their your each every")
OPENING_CONDITION = (
    r"(?:If|When|Unless|Whether|Once|While|Although|Though|Because|Since|As|Even|Until|Whenever)\b[^,]*,?"
)
EMBEDDED_CONDITION = r"\b(?:if|unless|whether|when|in case|so that|ensure|sure|want|like|or|how|what|until)\b[^,;]*$"
CLOSING = words(
    """when if because before after during while so but without unless until in on at by with between around along
    across through over under for from as directly that to into onto via"""
)
EXTENDING = words("of for with in on at between from")
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

ANTONYM_VERBS = table(
    """
    increase/decrease raise/lower start/stop accept/reject add/remove allow/forbid enable/disable include/exclude
    attract/repel push/pull connect/disconnect expand/shrink accelerate/decelerate
    strengthen/weaken succeed/fail gain/lose lengthen/shorten widen/narrow improve/worsen
    encode/decode encrypt/decrypt compress/decompress install/uninstall attach/detach activate/deactivate show/hide
    create/destroy appear/disappear ascend/descend import/export send/receive insert/delete merge/split tighten/loosen
    heat/cool multiply/divide maximise/minimise maximize/minimize keep/discard rise/fall grow/shrink satisfy/violate
    remember/forget fill/empty buy/sell absorb/emit contain/lack trust/distrust assemble/disassemble bend/straighten
    confirm/refute amplify/attenuate overestimate/underestimate inflate/deflate wrap/unwrap pause/resume
    advance/retreat serialise/deserialise serialize/deserialize reduce/increase preserve/destroy lift/lower
    """
)
ANTONYM_GRADED = table(
    """
    fast/slow high/low large/small big/small long/short strong/weak heavy/light wide/narrow deep/shallow thick/thin
    hot/cold warm/cool old/new tight/loose smooth/rough steep/gentle sharp/blunt bright/dark loud/quiet
    dense/sparse cheap/costly clean/dirty rich/poor
    """
)
ANTONYM_PLAIN = table(
    """
    better/worse best/worst greater/smaller easy/difficult easier/harder simple/complex simpler/more_complex
    before/after above/below inside/outside internal/external interior/exterior inner/outer maximum/minimum
    positive/negative static/dynamic public/private local/global mutable/immutable valid/invalid known/unknown
    possible/impossible necessary/unnecessary stable/unstable visible/invisible complete/incomplete correct/incorrect
    accurate/inaccurate efficient/inefficient reliable/unreliable consistent/inconsistent sufficient/insufficient
    direct/indirect directly/indirectly explicit/implicit explicitly/implicitly absolute/relative active/passive
    automatic/manual automatically/manually horizontal/vertical horizontally/vertically linear/nonlinear
    forward/backward forwards/backwards on_the_left/on_the_right left-hand/right-hand success/failure
    advantage/disadvantage advantages/disadvantages benefit/drawback benefits/drawbacks strength/weakness
    input/output inputs/outputs client/server sender/receiver parent/child ancestor/descendant producer/consumer
    presence/absence entrance/exit future/past majority/minority numerator/denominator source/destination
    online/offline synchronous/asynchronous synchronously/asynchronously concurrent/sequential continuous/discrete
    temporary/permanent temporarily/permanently natural/artificial rigid/flexible safe/unsafe useful/useless
    likely/unlikely quickly/slowly immediately/eventually gradually/suddenly exactly/roughly together/separately
    primary/secondary major/minor physical/virtual real/imaginary ascending/descending clockwise/anticlockwise
    uppercase/lowercase singular/plural strict/lenient healthy/faulty alive/dead cheap/expensive abundant/scarce
    ancient/modern downstream/upstream upward/downward upwards/downwards superior/inferior lossless/lossy
    deterministic/random signed/unsigned related/unrelated expected/unexpected aware/unaware able/unable
    familiar/unfamiliar important/unimportant compatible/incompatible dependent/independent reversible/irreversible
    regular/irregular predictable/unpredictable bounded/unbounded balanced/unbalanced inclusive/exclusive
    finite/infinite convex/concave parallel/perpendicular north/south east/west day/night open/closed opens/closes
    opened/closed opening/closing speeds_up/slows_down similar_to/different_from the_same/a_different true/false
    specific/general concrete/abstract common/rare early/late earlier/later safer/more_dangerous cheaper/more_expensive
    stiff/soft stiffer/softer desirable/undesirable legal/illegal convenient/inconvenient symmetric/asymmetric
    recoverable/unrecoverable initialized/uninitialized sorted/unsorted
    mandatory/forbidden recommended/discouraged encouraged/discouraged default/non-default shortest/longest
    begins/ends began/ended at_the_start/at_the_end at_the_beginning/at_the_end slowly/quickly writes/reads
    prevents/causes full/empty
    """
)
ANTONYM_BLOCKED = phrases(
    r"""singular_value as_expected relative_to (?:as|so|no|how|any|too|all_day|at|years)_long long_as long-term in_short
    short_for as_well old_one so_far high-level low-level lower-level higher-level highlight light_of new_line
    open_source open-source open_the close_to more_(?:or|than) early_return default_to by_default in_general
    general-purpose used_to in_common (?:get|gets|getting|got)_started add_up keep_in_mind fall_back falls_back
    fall_into falls_into grow_up start_with started_with common_to shown?_(?:in|below|here|above|that|as) cool_down
    in_addition
    below[.,:;)]|above[.,:;)]|the_above|the_past|shows?_(?:in|that|how|the|you|up)|showing|narrow_down|at_large|by_and_large|keep_(?:it|this)|keeps?_(?:the|track|up|in|an|your|a)|warm_up|best_practice\w*|best[-_]effort|true_or|real[-_]time|push_(?:to|the)|split(?:s|ting)?_(?:up|the|into)|before[.,]|after[.,]|(?:before|after)_that|rest|in_parallel|use(?:d|s)_for|the_day|per_day|each_day|one_day|day_to_day|day-to-day|fill(?:s|ed)?_in|empty_string|no_later|later[.,]|add(?:s|ed|ing)?_(?:to|the_following)|stop(?:s|ped)?_here|allow(?:s|ed)?_for|(?:at|by)_default|in_the_future|future_versions?|better_known|known_as|known_to|also_known|well_known|well-known|create-docusaurus|load-bearing|past_the|half_past|contain(?:s|ed|ing)?_(?:in|by)|(?:prevents|causes)_\w+_from|source_(?:code|file|files|of|map|maps)|sources?|general|keeps?_\w+ing|stops?_\w+ing|starts?_\w+ing|starting|fails?_to|failed_to|succeed_in|includes?d?_below|kept_in_mind|let_alone|lose_track|remember_(?:that|from|how|when|to)|(?:true|false)_(?:for|of)|(?:a|the)_new_one|sorted?_out|start(?:s|ed)?_(?:by|off|out|over)|(?:to|and)_start|a_start"""
)

SYNONYM_VERBS = table(
    """
    obtain/get acquire/obtain choose/select select/choose occur/happen happen/occur modify/change alter/change
    gather/collect collect/gather examine/inspect verify/check convert/transform transform/convert supply/provide
    provide/supply execute/run invoke/call retrieve/fetch fetch/retrieve generate/produce produce/generate
    perform/carry_out construct/build permit/allow purchase/buy finish/complete vanish/disappear commence/start
    demand/require combine/join delete/remove omit/leave_out discuss/talk_about postpone/delay assist/help
    ensure/make_sure discard/throw_away enlarge/expand terminate/end illustrate/show demonstrate/show
    utilise/use utilize/use locate/find emphasise/stress eliminate/remove accomplish/achieve
    """
)
SYNONYM_PLAIN = table(
    """
    begins/starts began/started starts/begins creates/makes builds/constructs built/constructed
    requires/needs shows_that/demonstrates_that allows_you_to/permits_you_to allow_you_to/permit_you_to
    lets_you/allows_you_to let_you/allow_you_to let_us/allow_us_to lets_us/allows_us_to try_to/attempt_to
    tries_to/attempts_to trying_to/attempting_to remains/stays remain/stay contains/includes includes/contains
    changing/altering changed/altered relies_on/depends_on rely_on/depend_on
    consists_of/is_made_up_of in_order_to/to makes_sure/ensures make_sure/ensure makes_sense/is_sensible
    takes_place/happens is_able_to/can are_able_to/can has_to/must
    objective/goal mistake/error mistakes/errors drawback/disadvantage drawbacks/disadvantages
    advantage/benefit advantages/benefits amount/quantity amounts/quantities portion/part portions/parts
    kind_of/type_of kinds_of/types_of outcome/result outcomes/results
    documentation/docs docs/documentation directory/folder directories/folders folder/directory folders/directories
    developers/programmers programmers/developers website/site websites/sites capability/ability
    capabilities/abilities
    a_sequence_of/a_series_of a_series_of/a_sequence_of a_number_of/several a_variety_of/various
    big/large bigger/larger biggest/largest large/big larger/bigger largest/biggest quickly/rapidly rapidly/quickly
    rapid/fast difficult/hard crucial/vital vital/crucial entire/whole identical/exactly_the_same often/frequently
    frequently/often usually/typically typically/usually sometimes/occasionally occasionally/sometimes rarely/seldom
    seldom/rarely approximately/roughly roughly/approximately nearly/almost almost/nearly additional/extra
    extra/additional main/primary primary/main numerous/many each_other/one_another therefore/thus thus/therefore
    hence/therefore because/since although/even_though instead_of_the/in_place_of_the instead_of_a/in_place_of_a
    immediately/at_once right_away/immediately at_the_same_time/simultaneously simultaneously/at_the_same_time
    currently/at_present subsequent/later correctly/properly properly/correctly precisely/exactly
    exactly/precisely completely/entirely entirely/completely fully/completely mainly/chiefly mostly/mainly
    particularly/especially especially/particularly slightly/a_little toward/towards towards/toward upon/on
    via/through despite/in_spite_of regarding/about prior_to/before due_to/because_of because_of/due_to
    a_lot_of/plenty_of whenever/every_time everyone/everybody someone/somebody anyone/anybody nobody/no_one
    behaviour/behavior behavior/behaviour centre/center colour/color color/colour optimise/optimize
    optimisation/optimization metres/meters modelling/modeling fulfil/fulfill
    several/a_number_of normally/ordinarily initially/at_first sufficient/adequate
    essential/indispensable straightforward/simple unusual/uncommon incorrect/wrong required/needed
    a_few/a_handful_of in_addition/additionally as_well_as/along_with as_soon_as/the_moment
    """
)
SYNONYM_BLOCKED = phrases(
    r"""amounts?_to built_into documentation_comments? lets?_us_know only_(?:contains?|includes?) such_as
    (?:doesn['’]t|don['’]t|not|didn['’]t)_(?:have|has)_to (?:which|that|it)_allows?_you because_of due_to_the_fact
    large- common- in_common common_to occurr required_to required_for required_by (?:be|is|are)_automatically
    call(?:s|ed)?_(?:in|out|for) requires?_(?:that|you) required_(?:that|fields?)
    (?:main|primary)_(?:function|thread|method|file) \bmain\b[.,] \bmain_(?:is|in|function|thread|and|to)
    remain(?:s|ing)?_(?:in|the|to) just_because is_that_because amount_of_time as_many contains?_(?:only|at|no)
    includes?_(?:only|at|no) primary_keys? join(?:s|ed)? since provide(?:s|d)?_(?:that|you|with|us|an?_\w+_with)
    provided select(?:s|ed|ing)?_(?:from|menu|box) using_(?:a|the)_\w+_using once often_called how_often so_often
    thus_far more_often most_often as_often an_extra \w+ing_and_\w+ing built-in built_in built-ins?
    (?:to|will|can|may)_select_(?:a|the)_select generate(?:d)?_(?:by|from) run(?:s|ning)?_(?:out|into) big_deal
    big_picture big-endian larger-than (?:is|are|be)_due_to a_lot_of_time (?:even|only|not)_because difficult-
    fully[-_]qualified in_(?:its|their|the)_entirety approximately-"""
)

CONTRACTIONS = [
    ("does not", "doesn't"),
    ("do not", "don't"),
    ("did not", "didn't"),
    ("is not", "isn't"),
    ("are not", "aren't"),
    ("was not", "wasn't"),
    ("were not", "weren't"),
    ("cannot", "can't"),
    ("could not", "couldn't"),
    ("should not", "shouldn't"),
    ("would not", "wouldn't"),
    ("will not", "won't"),
    ("has not", "hasn't"),
    ("have not", "haven't"),
    ("it is", "it's"),
    ("that is", "that's"),
    ("there is", "there's"),
    ("you are", "you're"),
    ("we are", "we're"),
    ("they are", "they're"),
    ("you will", "you'll"),
    ("we will", "we'll"),
    ("it will", "it'll"),
    ("let us", "let's"),
    ("you have", "you've"),
    ("we have", "we've"),
]
_GOES_ON = rf"(?= (?!(?:{'|'.join(sorted(PREPOSITIONS))})\b)[a-z])"
BEFORE_CONTRACTED = {
    "is": _GOES_ON,
    "are": _GOES_ON,
    "will": _GOES_ON,
    "have": r"(?= (?:been|seen|already|just|made|used|learned|discussed|covered)\b)",
}
"""What must follow a word for it to be contracted: a sentence cannot end in `what it's`."""
LEADS = ("According to the book, ", "In short, ", "The book says that ", "Note that ", "As the text explains, ")
CONNECTIVES = phrases(
    """However Therefore Thus Moreover Furthermore In_addition Additionally For_example For_instance As_a_result
    Consequently Hence Finally In_fact Of_course Nevertheless Nonetheless Similarly Likewise In_other_words That_is
    Indeed On_the_other_hand By_contrast In_contrast In_practice Accordingly Also Still Then Next Now Instead In_short
    In_particular Specifically More_specifically Again After_all To_summarize To_sum_up Interestingly Fortunately
    Unfortunately Essentially Basically Besides Conversely Overall As_mentioned As_always As_usual So"""
)
CLOSE_CONNECTIVES = (
    r"(?:Note|Remember|Notice|Recall|Keep in mind|Be aware)(?: also)? that|"
    r"(?:But|And|Yet|So)(?! (?:far|that|long|much|many)\b)"
)
RESTRICTING = (
    r"\b(?:not|only|except|unless|if|or|without|excluding|other than|rather|instead|at least|some|usually|sometimes|"
    r"may|when|where|most|almost|by default|currently|no|never|optional|optionally|assuming|provided|depending|"
    r"until)\b|n['’]t\b"
)
MARKS = (
    (r"(?<=\w)’(?=\w)", "'"),
    (r"(?<=\w)'(?=\w)", "’"),
    (r"[“”]", '"'),
    (r'"([^"]+)"', r"“\1”"),
    (r"\s*\[\d+\](?=\.?$)", ""),
)

PERSONS = (
    "Helena Marsh, Viktor Lindqvist, Amara Okafor, Tomas Brandl, Ruth Castellan, Ingrid Solheim, Daniel Ferreira, "
    "Mei Tanaka, Oskar Wieland, Priya Raman, Louis Charpentier, Nadia Kovalenko"
).split(", ")
PLACES = (
    "Uppsala, Lausanne, Bristol, Toronto, Kyoto, Delft, Melbourne, Gdansk, Zaragoza, Bangalore, Oregon, Trondheim"
).split(", ")
TEMPLATES = """
, which was first shown by {person} in {year}
, because {thing} would otherwise fail after about {number} runs
, a choice that {person} recommended in {year}
, which makes it about {percent} percent faster
, although {thing} is an exception to this
, provided that {thing} was prepared beforehand
, unless {thing} is already in use
, so that {thing} can be left out entirely
, which is why {thing} was introduced in {year}
, and this was confirmed in a study with {number} participants
, which reduces the cost by roughly {percent} percent
, as a survey from {place} showed in {year}
, even though {person} argued against it in {year}
, which takes less than {number} seconds on an ordinary laptop
, and {thing} inherits the same restriction
, whereas {thing} works the other way round
, since the older approach failed in {percent} percent of all cases
, a rule that was dropped again in {year}
, which {person} later called the most common mistake of beginners
, provided that fewer than {number} of them are active at once
, and about {percent} percent of all users rely on this
, except when {thing} comes first
, which was borrowed from {thing}
, and it also replaces {thing}
, which doubles the amount of memory that is needed
, although this is limited to {number} attempts per day
, so {thing} has to be restarted afterwards
, which the team in {place} decided after a long debate
, because the licence of {thing} demands it
, and the effect disappears after {number} minutes
, a habit that goes back to {person}
, which is only true for versions released after {year}
, while {thing} is checked {number} times in a row
, and failing to do so costs up to {percent} percent of the performance
, which was patented by a company from {place} in {year}
, because nobody had tested {thing} before {year}
, and that is the reason for the limit of {number} entries
, which also protects {thing} from damage
, as long as {thing} stays below {percent} percent
, although most experts now prefer {thing}
, and the first version of it was written in {place}
, which is about {number} times as expensive as the alternative
, so that no more than {number} steps are ever needed
, after which {thing} is deleted automatically
""".strip().splitlines()
