"""The API that programs for OpenAI know: chat completions, whole or streamed, with citations as annotations."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from glossator import pipeline
from glossator.core.answers import UNAVAILABLE, Answer, Delta
from glossator.core.errors import QuestionError
from glossator.core.question import Past, Question
from glossator.core.receipts import AnswerWithReceipt
from glossator.core.validation import MAX_QUESTION, MAX_SELECTION
from glossator.pipeline.answering import Pieces
from glossator.serve.doors.base import Door, with_request
from glossator.serve.doors.service import AnswerService, with_notice
from glossator.serve.doors.streams import HEADERS
from glossator.serve.middleware.context import context_of
from glossator.serve.middleware.request import as_problem
from glossator.serve.problems import Problem

MODEL = "glossator"
MOST_MESSAGES = 200
_CHUNKS: dict[str, Any] = {
    "text/event-stream": {
        "schema": {
            "type": "object",
            "description": "Chunks of a completion, and `[DONE]` at the end.",
            "properties": {"data": {"type": "string"}},
            "required": ["data"],
        }
    }
}
_MARKS = re.compile(r"\s*\[\d+\]")
_UNHEARD = ("system", "developer", "tool", "function")
_TYPES = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class _Part(BaseModel):
    type: Literal["text"]
    text: Annotated[str, Field(max_length=MAX_QUESTION)]


class Message(BaseModel):
    """One message; of other roles than user and assistant nothing is used."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Annotated[str, Field(max_length=MAX_QUESTION)] | Annotated[list[_Part], Field(max_length=50)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _unheard(cls, given: Any) -> Any:
        unheard = isinstance(given, dict) and given.get("role") in _UNHEARD
        return {"role": given["role"]} if unheard else given

    @property
    def text(self) -> str:
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        return "\n".join(part.text for part in self.content)


class _StreamOptions(BaseModel):
    include_usage: bool = False


class CompletionRequest(BaseModel):
    """A conversation; what steers a language model (temperature and the like) is accepted and not used."""

    model_config = ConfigDict(extra="ignore", strict=True)
    model: Annotated[str, Field(max_length=200)] = MODEL
    messages: Annotated[list[Message], Field(min_length=1, max_length=MOST_MESSAGES)]
    stream: bool | None = False
    stream_options: _StreamOptions | None = None
    selected_text: Annotated[str, Field(max_length=MAX_SELECTION)] | None = Field(
        None, description="Of our own: answer from this text alone"
    )


class _UrlCitation(BaseModel):
    start_index: int
    end_index: int
    url: str
    title: str


class _Annotation(BaseModel):
    type: Literal["url_citation"] = "url_citation"
    url_citation: _UrlCitation


class _Said(BaseModel):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: str | None = None
    annotations: list[_Annotation]


class _Choice(BaseModel):
    index: int = 0
    message: _Said
    logprobs: None = None
    finish_reason: Literal["stop"] = "stop"


class _Usage(BaseModel):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completion(BaseModel):
    """An answer."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[_Choice]
    usage: _Usage


class ModelCard(BaseModel):
    """The one model there is: the book."""

    id: str = MODEL
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "glossator"


class ModelList(BaseModel):
    """All models."""

    object: Literal["list"] = "list"
    data: list[ModelCard]


class _Detail(BaseModel):
    message: str
    type: str
    param: str | None = None
    code: str


class ErrorResponse(BaseModel):
    """An error as OpenAI tells it."""

    error: _Detail


def _tell(problem: Problem) -> ErrorResponse:
    kind = _TYPES.get(problem.status, "invalid_request_error" if problem.status < 500 else "server_error")
    return ErrorResponse(error=_Detail(message=problem.message, type=kind, code=problem.name))


DOOR = Door("openai", ("/v1",), ErrorResponse, _tell)


def routes(service: AnswerService) -> APIRouter:
    """Completions and models."""
    router = DOOR.router()

    @router.post(
        "/v1/chat/completions", tags=["openai"], response_model=Completion, responses={200: {"content": _CHUNKS}}
    )
    async def complete(body: CompletionRequest, request: Request) -> Completion | Response:
        """The answer to the last message of a user; what was said before it is its context."""
        text, past = _asked(body.messages)
        question = Question(text, body.selected_text, past=past)
        name, made = f"chatcmpl-{uuid.uuid4().hex}", int(time.time())
        if body.stream:
            usage = bool(body.stream_options and body.stream_options.include_usage)
            chunks = _Chunks(service, name, made, body.model, text)
            pieces = service.counted(pipeline.stream(service.engine, question))
            first = await anext(pieces)
            return StreamingResponse(
                chunks.events(request, first, pieces, usage=usage), media_type="text/event-stream", headers=HEADERS
            )
        answer = (await service.answer(question)).answer
        said = _Said(content=with_notice(Delta.of(answer)), annotations=_annotations(answer))
        usage_of = _usage(service, text, said.content)
        return Completion(id=name, created=made, model=body.model, choices=[_Choice(message=said)], usage=usage_of)

    @router.get("/v1/models", tags=["openai"])
    async def models() -> ModelList:
        """The models, of which there is one."""
        return ModelList(data=[ModelCard()])

    @router.get("/v1/models/{model}", tags=["openai"])
    async def model_card(model: str) -> ModelCard:
        """One model."""
        if model != MODEL:
            raise HTTPException(404)
        return ModelCard()

    return router


def _asked(messages: list[Message]) -> tuple[str, Past]:
    """The question, and the questions and answers before it."""
    said = [message for message in messages if message.role in ("user", "assistant")]
    if not said or said[-1].role != "user":
        raise QuestionError("The last message is not a user's.", "End the messages with a question.")
    past = [
        (asked.text, _MARKS.sub("", answered.text.removeprefix(UNAVAILABLE)).strip())
        for asked, answered in pairwise(said)
        if (asked.role, answered.role) == ("user", "assistant")
    ]
    return said[-1].text, tuple(past)


def _annotations(answer: Answer) -> list[_Annotation]:
    """A citation for every mark that follows a sentence; brackets within one are the book's own words."""
    text, at, found = with_notice(Delta.of(answer)), 0, []
    cited = {citation.number: citation for citation in answer.citations if citation.url}
    for sentence in answer.sentences:
        begun = text.find(sentence.text, at)
        at = begun + len(sentence.text) if begun >= 0 else at
        for number in sentence.citations:
            mark = f"[{number}]"
            start = text.find(mark, at)
            at = start + len(mark)
            if number in cited:
                url, title = cited[number].url, cited[number].title
                place = _UrlCitation(start_index=start, end_index=at, url=url, title=title)
                found.append(_Annotation(url_citation=place))
    return found


def _usage(service: AnswerService, question: str, answer: str) -> _Usage:
    """Tokens as our own model counts them."""
    asked, said = service.engine.embedder.count_tokens([question, answer])
    return _Usage(prompt_tokens=asked, completion_tokens=said, total_tokens=asked + said)


class _Chunks:
    """The chunks of one streamed answer."""

    def __init__(self, service: AnswerService, name: str, made: int, model: str, question: str) -> None:
        self._service = service
        self._question = question
        self._head = {"id": name, "object": "chat.completion.chunk", "created": made, "model": model}

    async def events(
        self, request: Request, first: str | AnswerWithReceipt, pieces: Pieces, *, usage: bool
    ) -> AsyncIterator[str]:
        text = ""
        yield self._chunk({"role": "assistant", "content": ""})
        try:
            result = first if isinstance(first, AnswerWithReceipt) else None
            if isinstance(first, Delta):
                text += with_notice(first)
                yield self._chunk({"content": text})
            async for piece in pieces:
                if isinstance(piece, AnswerWithReceipt):
                    result = piece
                else:
                    text += with_notice(piece)
                    yield self._chunk({"content": with_notice(piece)})
        except Exception as error:
            context = context_of(request)
            problem = with_request(as_problem(error, DOOR), context.request_id, dev=False)
            context.problem = problem.code
            yield _data(DOOR.tell(problem).model_dump(mode="json"))
            return
        if result is not None:
            notes = [note.model_dump() for note in _annotations(result.answer)]
            yield self._chunk({"annotations": notes}, "stop")
        if usage:
            spent = _usage(self._service, self._question, text).model_dump()
            yield _data(self._head | {"choices": [], "usage": spent})
        yield "data: [DONE]\n\n"

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _data(self._head | {"choices": [choice]})


def _data(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
