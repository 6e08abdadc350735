"""Scripted answers for browser tests: the events that `/chat/stream` sends, and the sources they cite."""

from __future__ import annotations

import json
from typing import Any

Body = dict[str, Any]


SESSION = "3f0e8a52-6d0f-4a53-9c0f-0d6f0a1b2c3d"


def cited_source(source_url: str, quote: str, *, title: str = "Balance", section: str = "Zero-moment point") -> Body:
    """A source with its quote."""
    return {
        "source_url": source_url,
        "title": title,
        "section": section,
        "chunk_position": 1,
        "similarity_score": 0.87,
        "snippet": quote,
        "quote": quote,
    }


def answer_stream(text: str, *sources: Body, **about: Any) -> str:
    """The events of an answer as `/chat/stream` sends it, in several deltas."""
    size = max(1, len(text) // 3)
    deltas = [("delta", {"delta": text[at : at + size]}) for at in range(0, len(text), size)]
    metadata = {
        "query_time_ms": 12.5,
        "retrieval_count": 5,
        "mode": "full",
        "request_id": SESSION,
        "session_id": SESSION,
        "server_url": "",
        "receipt_id": "01receipt",
        "stored": True,
        "degraded": False,
        "keywords_only": False,
        "abstained": False,
        "low_confidence": False,
        "confidence": 0.9,
        "fallback_message": None,
        "withheld": 0,
        "suggestions": [],
        "citations": [
            {"number": n, "quote": source["quote"], "start": 0, "end": 1} for n, source in enumerate(sources, 1)
        ],
        "verdicts": [
            {"citations": [n], "status": "supported", "score": 0.9, "quote": source["quote"]}
            for n, source in enumerate(sources, 1)
        ],
        "formulas": {},
        **about,
    }
    public = [{key: value for key, value in source.items() if key != "quote"} for source in sources]
    stream = [*deltas, ("sources", {"sources": public, "metadata": metadata}), ("done", {"done": True})]
    return "".join(
        f"id: x:{n}\nevent: {name}\ndata: {json.dumps(data)}\n\n" for n, (name, data) in enumerate(stream, 1)
    )


MARKDOWN = """## Steps

1. Measure the **forces**
2. Compute the *point*
   - inside the polygon
   - outside it

| Robot | Mass |
|---|---|
| Atlas | 89 kg |

```python
print("<b>zmp</b>")
```

See [the glossary](https://example.org/glossary) and `p_x`. [1]
"""
SHORT_ANSWER = answer_stream("Yes. [1]", cited_source("/book/glossary", "yes"))
