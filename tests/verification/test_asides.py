"""Sentences without a claim are recognized as asides; in doubt a sentence is a claim."""

from __future__ import annotations

import pytest

from glossator.verification.claims.split import SegmentKind, is_aside, split_draft

ASIDES = """
Hello!|Hi there!|Sure!|Great question!|That's a great question.|Of course.|Sure, of course!|Thank you for your question.
Here are the steps:|The main points are:|The following steps are needed:|In summary:|To do this, follow these steps:
Based on the provided sources:|Based on the provided sources, here is what I found:|For example:
Would you like to know more?|Which robot do you mean?|Would you like more on sensors, motors or software?
I hope this helps!|Let me know if you have more questions.|Feel free to ask.|If you have questions, feel free to ask.
The sources do not say how heavy it is.|The book does not mention this.|The provided text doesn't contain any details.
I could not find this in the provided passages.|Unfortunately, I couldn’t find an answer.
I'm sorry, but the book does not say so.|There is no information about this in the sources.
Hallo!|Gute Frage!|Hier sind die Schritte:|Möchten Sie mehr wissen?|Ich hoffe, das hilft!|Klar!
Die Quellen sagen nicht, wie schwer er ist.|Ich konnte dazu nichts finden.
Hola!|¡Buena pregunta!|Aquí están los pasos:|¿Quieres saber más?|Espero que esto ayude.|El libro no menciona esto.
مرحبا!|بالطبع.|إليك الخطوات:|هل تريد المزيد؟|آمل أن يساعدك هذا.|لا تذكر المصادر ذلك.
السلام علیکم!|بالکل۔|درج ذیل اقدامات ہیں:|کیا آپ مزید جاننا چاہتے ہیں؟|کتاب میں اس کا ذکر نہیں ہے۔
"""
CLAIMS = """
Sure, the robot weighs 40 kg.|Hello, the robot is heavy.|Yes.|No.|The answer is yes.|Great robots ask questions.
Here are the 3 steps:|In summary, the robot is banned:|Robots are banned in these countries:|The robot walks:
Here is why, because robots fail:|Here it is and it is a very long line of words that goes on:|Here it is: it walks:
The robot is banned, isn't it?|Is it 40 kg?|Let me know if you agree, the robot is banned.
I hope this helps: robots are banned.|If you have a robot, it is banned, let me know.
The sources do not say so, but it is banned.|The sources do not say so but it is banned.|The book does not allow robots.
I could not find a robot; it is banned.|The sources say that it is banned.|I could not find it and the robot is banned.
Die Quellen sagen, dass er schwer ist.|El libro menciona esto.|کتاب مہنگی نہیں ہے۔|الكتاب كبير.
"""


@pytest.mark.parametrize("text", [text for line in ASIDES.split("\n") for text in line.split("|") if text])
def test_aside_is_recognized(text: str) -> None:
    assert is_aside(text)
    assert [segment.kind for segment in split_draft(text)][-1] is SegmentKind.ASIDE


@pytest.mark.parametrize("text", [text for line in CLAIMS.split("\n") for text in line.split("|") if text])
def test_possible_claim_is_not_an_aside(text: str) -> None:
    assert not is_aside(text)
