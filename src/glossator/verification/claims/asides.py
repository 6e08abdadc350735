"""Recognizes asides, sentences without a claim: greetings, lead-ins, questions to the user, closings."""

from __future__ import annotations

import re

_MAX_LENGTH = 200
_MAX_WORDS = 12
_CLAUSE_BREAK = re.compile(r"[,;:،؛、，；：—]| [-–] ")
_CONTRAST = re.compile(
    r"\b(?:but|however|although|though|whereas|while|yet|instead|because|aber|jedoch|sondern|pero|sino|aunque|porque"
    r"|لكن|ولكن|بل|لأن|لیکن|مگر|بلکہ|کیونکہ)\b|\band (?:it|the|they|he|she|this|that|there|we|you)\b"
)


def _alternatives(*patterns: str) -> str:
    """A pattern of alternatives."""
    return f"(?:{'|'.join(patterns)})"


_GREETING = _alternatives(
    r"(?:hello|hi|hey|greetings)(?: there)?|good (?:morning|afternoon|evening|day)|welcome|you(?:'re| are) welcome",
    r"sure(?: thing)?|certainly|of course|absolutely|gladly|no problem|happy to help",
    r"(?:(?:that's|that is|this is|what) )?(?:an? )?(?:very )?(?:great|good|excellent|interesting) question",
    r"(?:thanks|thank you)(?: (?:very|so) much)?(?: for (?:asking|(?:your|the|this) (?:\w+ )?question))?",
    r"(?:i'd|i would|i'm|i am) (?:be )?(?:happy|glad) to help",
    r"hallo|guten (?:tag|morgen|abend)|gerne?|natürlich|klar|selbstverständlich|sicher",
    r"(?:das ist )?(?:eine )?(?:sehr )?gute frage|vielen dank(?: für (?:die|ihre|deine) frage)?",
    r"hola|claro(?: que sí)?|por supuesto|con gusto|buenos días|buenas tardes",
    r"(?:es )?(?:una )?(?:muy )?buena pregunta|gracias(?: por (?:la|tu|su) pregunta)?",
    r"مرحباً?|أهلاً?(?: وسهلاً?)?|بالطبع|بالتأكيد|(?:هذا )?سؤال (?:جيد|رائع|ممتاز)|السلام عليكم|شكراً?(?: على سؤالك)?",
    r"ہیلو|السلام علیکم|بالکل|یقیناً|ضرور|(?:یہ )?(?:ایک )?(?:بہت )?(?:اچھا|عمدہ) سوال(?: ہے)?|شکریہ",
)
_GREETINGS = re.compile(rf"[¡\s]*{_GREETING}(?:[,،!¡.\s]+{_GREETING})*")

_SOURCES = (
    r"(?:(?:the|these|those|your|any|of) )*(?:(?:provided|given|available|cited|retrieved) )?"
    r"(?:sources?|passages?|book|text|documents?|context|excerpts?|material)(?: (?:provided|given|available))?"
)
_INTRODUCTION = re.compile(
    _alternatives(
        rf"(?:based on|according to) {_SOURCES}|in (?:summary|short|brief)|to (?:summari[sz]e|do (?:this|so|that))",
        r"zusammenfassend|kurz gesagt|laut den quellen|en resumen|según las fuentes",
        r"باختصار|وفقاً? للمصادر|وفقًا للمصادر|خلاصہ یہ ہے|مختصراً",
    )
    + r"\s*(?:[,،:：]\s*|$)"
)
_LEAD_IN = re.compile(
    _alternatives(
        r"(?:here(?:'s| is| are)|the following|these are|this is (?:how|what)|below|follow (?:these|the))\b",
        r"(?:the|its|their|some) (?:(?:main|key|basic|most important|essential|necessary) )?(?:points|steps|reasons"
        r"|parts|features|ideas|differences|examples|facts|topics) (?:are|include)(?: as follows)?$",
        r"(?:for (?:example|instance)|as follows|summary|steps|in detail)$",
        r"(?:the |an )?(?:short |final )?(?:answer|explanation|conclusion|solution)(?: is)?$",
        r"(?:hier (?:ist|sind)|(?:die|der|das) folgenden?|folgende|dies sind)\b",
        r"(?:zum beispiel|die (?:wichtigsten )?(?:punkte|schritte|gründe) sind|so geht es)$",
        r"(?:aquí|a continuación|est[oa]s? son|l[oa]s siguientes|sigue estos)\b",
        r"(?:los (?:puntos|pasos) (?:principales )?son|por ejemplo)$",
        r"(?:إليك|فيما يلي|هذه هي|(?:ال)?خطوات (?:هي|التالية)|اتبع)\b|(?:على سبيل المثال|النقاط الرئيسية هي)$",
        r"(?:یہ ہیں|درج ذیل|مندرجہ ذیل|ذیل میں|یہاں)\b|(?:مثال کے طور پر|اہم نکات یہ ہیں)$",
    )
)
_QUESTION = re.compile(r"[?؟？]+[\"'”’»)\]]*$")
_TO_THE_READER = re.compile(
    r"(?:would|do|did|are|could|can|shall|should|may) (?:you|i|we)\b|(?:möchten|wollen) sie\b|soll ich\b|¿quiere"
)
_CLOSINGS = re.compile(
    _alternatives(
        r"i hope (?:this|that|it) (?:helps|is helpful|answers your question).*",
        r"(?:please )?(?:let me know (?:if|whether) |feel free to (?:ask|reach|contact|let)|ask (?:me )?if you ).*",
        r"if you (?:have|need|want) [^,]*,? (?:please )?(?:feel free|let me know|just ask|ask me|ask)\b.*",
        r"ich hoffe,? (?:das|dies) hilft.*|(?:lassen sie|lass) (?:es )?mich (?:gerne? )?wissen,? (?:wenn|ob|falls) .*",
        r"(?:bei (?:weiteren )?fragen|fragen sie|frag) .*(?:gerne?|jederzeit).*",
        r"espero que (?:esto |te |le )*(?:ayude|sirva|sea útil).*|(?:avísame|avíseme|dime|dígame) si .*",
        r"no dudes? en (?:preguntar|consultar).*",
        r"(?:آمل|أتمنى) أن (?:يكون هذا مفيدا|يساعدك|يساعد|يفيدك).*|لا تتردد في (?:السؤال|طرح|التواصل).*",
        r"(?:أخبرني|أعلمني) إذا .*|امید ہے (?:کہ )?(?:یہ|اس سے).*(?:مدد|مفید|مددگار).*",
        r"(?:مزید )?سوال.*(?:پوچھیں|پوچھ سکتے).*|(?:مجھے|بلا جھجھک) .*(?:بتائیں|پوچھیں).*",
    )
)
_SAY_VERBS = r"(?:say|mention|state|cover|discuss|specify|describe|explain|answer|address|tell|indicate)\b"
_HAVE_FACTS = (
    r"(?:contain|include|provide|give|have|offer) (?:(?:any|enough|specific|further|more|detailed|an?|the) )*"
    r"(?:information|details?|answers?|explanation|data|evidence|mention|figures?)"
)
_NOT_FOUND = re.compile(
    _alternatives(
        rf"{_SOURCES} (?:do(?:es)? not|don't|doesn't|did not|didn't) (?:{_SAY_VERBS}|{_HAVE_FACTS}).*",
        r"i (?:could not|couldn't|cannot|can't|did not|didn't|(?:was|am) (?:unable|not able) to) (?:find|locate) .*",
        rf"(?:there is )?no (?:information|mention|answer)\b.*\bin {_SOURCES}",
        rf"(?:this|that|the answer) is not (?:mentioned|stated|covered|discussed|explained|said) in {_SOURCES}",
        r"(?:die (?:\w+ )?quellen|das buch|der text) (?:sag|erwähn|enthalt|enthält|nenn|beschreib)\w*"
        r" .*\b(?:nichts?|keine?n?)\b.*",
        r"(?:(?:dazu|das|dies) )?(?:ich )?(?:konnte|kann) (?:ich )?.*\b(?:nichts?|keine?n?)\b.*\bfinden\b.*",
        r"(?:las fuentes|el libro|el texto)(?: \w+)? no (?:lo )?(?:dice|menciona|explica|indica|especifica)n?\b.*",
        r"(?:las fuentes|el libro|el texto)(?: \w+)? no contienen? (?:información|detalles).*",
        r"no (?:(?:pude|he podido) encontrar|encontré) .*",
        r"(?:المصادر|الكتاب|النص) (?:\w+ )?(?:لا|لم) (?:تذكر|يذكر|تقول|يقول|تشرح|يشرح|توضح|يوضح)\b.*",
        r"(?:لا|لم) (?:تذكر|يذكر|تقول|يقل|تتناول|يتناول|توضح|يوضح) (?:المصادر|الكتاب|النص)\b.*",
        r"لم (?:أجد|أعثر|أتمكن من العثور)\b.*|مجھے .*\bنہیں (?:ملا|ملی|مل سکا|مل سکی)\b.*",
        r"(?:فراہم کردہ )?(?:ماخذ|مآخذ|ذرائع|کتاب|متن) (?:میں )?.*(?:ذکر|بتات\w*|بیان|معلومات|وضاحت)\b.*\bنہیں\b.*",
    )
)
_REGRET = re.compile(r"(?:unfortunately|(?:i'm|i am) sorry|sorry|leider|lamentablemente|للأسف|افسوس)[,،]? (?:but )?")
# German puts a comma before every clause; one that only says what was looked for is not a claim.
_HARMLESS_CLAUSE = re.compile(r", (?:wie|ob|was|wer|wann|wo|warum|welche\w*|wenn|falls)\b|^if you [^,]*,|^ich hoffe,")


def is_aside(text: str) -> bool:
    """Whether a sentence makes no claim that a source could support; unclear cases are claims."""
    sentence = " ".join(text.casefold().replace("’", "'").split())
    if not sentence or len(sentence) > _MAX_LENGTH or any(character.isdigit() for character in sentence):
        return False
    if _QUESTION.search(sentence):
        return not _CLAUSE_BREAK.search(sentence) or _TO_THE_READER.match(sentence) is not None
    if sentence.endswith((":", "：")):
        return _is_lead_in(sentence[:-1].rstrip())
    sentence = sentence.rstrip(" .!…。！۔*_\"'”’)🙂😊👋")
    return _GREETINGS.fullmatch(sentence) is not None or _is_about_the_answer(sentence)


def _is_lead_in(sentence: str) -> bool:
    """Whether the words before a colon only introduce what follows."""
    introduction = _INTRODUCTION.match(sentence)
    announced = sentence[introduction.end() :] if introduction else sentence
    if len(sentence.split()) > _MAX_WORDS or _CLAUSE_BREAK.search(announced):
        return False
    return not announced or bool(_LEAD_IN.match(announced) or _GREETINGS.fullmatch(announced))


def _is_about_the_answer(sentence: str) -> bool:
    """Whether a sentence only closes the answer or says that something was not found."""
    regret = _REGRET.match(sentence)
    sentence = sentence[regret.end() :] if regret else sentence
    if not (_NOT_FOUND.fullmatch(sentence) or _CLOSINGS.fullmatch(sentence)):
        return False
    sentence = _HARMLESS_CLAUSE.sub(" ", sentence)
    return not _CLAUSE_BREAK.search(sentence) and not _CONTRAST.search(sentence)
