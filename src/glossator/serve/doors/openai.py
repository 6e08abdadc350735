"""The OpenAI-compatible door: chat completions, whole or streamed, with citations as annotations."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from glossator import pipeline
from glossator.core.answers import UNAVAILABLE_NOTICE, Answer, Delta, Mode
from glossator.core.errors import QuestionError
from glossator.core.question import Past, Question
from glossator.core.receipts import AnswerWithReceipt
from glossator.core.text.marks import strip_marks
from glossator.core.types import Filters
from glossator.core.validation import MAX_QUESTION_LENGTH, MAX_SELECTION_LENGTH
from glossator.pipeline.answering import AnswerIterator
from glossator.serve.doors.addresses import ServerAddress
from glossator.serve.doors.base import Door, NoneIfBlank, VersionName, with_request
from glossator.serve.doors.service import AnswerService, cited_sources, suggestion_list, with_notice, without_marks
from glossator.serve.doors.streams import STREAM_HEADERS
from glossator.serve.middleware.context import context_of
from glossator.serve.problems import Problem

MODEL = "glossator"
MAX_MESSAGES = 200
_CHUNKS_CONTENT: dict[str, Any] = {
    "text/event-stream": {
        "schema": {
            "type": "object",
            "description": "Chunks of a completion, ended by `[DONE]`.",
            "properties": {"data": {"type": "string"}},
            "required": ["data"],
        }
    }
}
_IGNORED_ROLES = ("system", "developer", "tool", "function")
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}


class _Part(BaseModel):
    type: Literal["text"]
    text: Annotated[str, Field(max_length=MAX_QUESTION_LENGTH)]


class Message(BaseModel):
    """A message; only those of the roles user and assistant are used."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: (
        Annotated[str, Field(max_length=MAX_QUESTION_LENGTH)] | Annotated[list[_Part], Field(max_length=50)] | None
    ) = None

    @model_validator(mode="before")
    @classmethod
    def _drop_ignored_content(cls, message: Any) -> Any:
        ignored = isinstance(message, dict) and message.get("role") in _IGNORED_ROLES
        return {"role": message["role"]} if ignored else message

    @property
    def text(self) -> str:
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        return "\n".join(part.text for part in self.content)


class _StreamOptions(BaseModel):
    include_usage: bool = False


class CompletionRequest(BaseModel):
    """A conversation; sampling parameters such as temperature are accepted and ignored."""

    model_config = ConfigDict(extra="ignore", strict=True)
    model: Annotated[str, Field(max_length=200)] = MODEL
    messages: Annotated[list[Message], Field(min_length=1, max_length=MAX_MESSAGES)]
    stream: bool | None = False
    stream_options: _StreamOptions | None = None
    selected_text: Annotated[Annotated[str, Field(max_length=MAX_SELECTION_LENGTH)] | None, NoneIfBlank] = Field(
        None, description="Extension: answer from this text only"
    )
    version: VersionName = Field(None, description="Extension: version of the book; by default the current one")


class _UrlCitation(BaseModel):
    start_index: int
    end_index: int
    url: str
    title: str


class _Annotation(BaseModel):
    type: Literal["url_citation"] = "url_citation"
    url_citation: _UrlCitation


class _AssistantMessage(BaseModel):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: str | None = None
    annotations: list[_Annotation]


class _Choice(BaseModel):
    index: int = 0
    message: _AssistantMessage
    logprobs: None = None
    finish_reason: Literal["stop"] = "stop"


class _Usage(BaseModel):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completion(BaseModel):
    """A completion."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[_Choice]
    usage: _Usage


class ModelCard(BaseModel):
    """The only model: the book."""

    id: str = MODEL
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "glossator"


class ModelList(BaseModel):
    """The available models."""

    object: Literal["list"] = "list"
    data: list[ModelCard]


class _Detail(BaseModel):
    message: str
    type: str
    param: str | None = None
    code: str


class ErrorResponse(BaseModel):
    """An error in the format of OpenAI."""

    error: _Detail


def _render_error(problem: Problem) -> ErrorResponse:
    error_type = _ERROR_TYPES.get(problem.status, "invalid_request_error" if problem.status < 500 else "server_error")
    return ErrorResponse(error=_Detail(message=problem.message, type=error_type, code=problem.name))


DOOR = Door("openai", ("/v1",), ErrorResponse, _render_error)


def routes(service: AnswerService) -> APIRouter:
    """Completions and models."""
    router = DOOR.router()

    @router.post(
        "/v1/chat/completions",
        tags=["openai"],
        response_model=Completion,
        responses={200: {"content": _CHUNKS_CONTENT}},
    )
    async def complete(body: CompletionRequest, request: Request) -> Completion | Response:
        """Answer the last message, which must be a user's; the messages before it are its context."""
        text, past = _question_and_past(body.messages)
        question = Question(text, body.selected_text, Filters(version=body.version), past=past)
        completion_id, created = f"chatcmpl-{uuid.uuid4().hex}", int(time.time())
        if body.stream:
            include_usage = bool(body.stream_options and body.stream_options.include_usage)
            written = with_notice if question.selection is None else without_marks
            chunks = _ChunkWriter(service, completion_id, created, body.model, text, written)
            pieces = service.with_metrics(pipeline.stream(service.engine, question))
            first = await anext(pieces)
            events = chunks.events(request, first, pieces, include_usage=include_usage)
            return StreamingResponse(events, media_type="text/event-stream", headers=STREAM_HEADERS)
        answer = (await service.answer(request, question)).answer
        message = _AssistantMessage(content=_text(answer), annotations=_annotations(answer))
        return Completion(
            id=completion_id,
            created=created,
            model=body.model,
            choices=[_Choice(message=message)],
            usage=_usage(service, text, message.content),
        )

    @router.get("/v1/models", tags=["openai"])
    async def models() -> ModelList:
        """The available models; there is only one."""
        return ModelList(data=[ModelCard()])

    @router.get("/v1/models/{model}", tags=["openai"])
    async def model_card(model: str) -> ModelCard:
        """A model by its id."""
        if model != MODEL:
            raise HTTPException(404)
        return ModelCard()

    return router


def _question_and_past(messages: list[Message]) -> tuple[str, Past]:
    """The question, and the questions and answers before it."""
    dialogue = [message for message in messages if message.role in ("user", "assistant")]
    if not dialogue or dialogue[-1].role != "user":
        raise QuestionError("The last message must have the role user.", "End the messages with a question.")
    past = [
        (first.text, strip_marks(second.text.removeprefix(UNAVAILABLE_NOTICE)).strip())
        for first, second in pairwise(dialogue)
        if (first.role, second.role) == ("user", "assistant")
    ]
    return dialogue[-1].text, tuple(past)


def _text(answer: Answer) -> str:
    """The text of an answer; a selection has no URL to annotate, so nothing is marked."""
    written = without_marks if answer.mode is Mode.SELECTED_TEXT else with_notice
    return written(Delta.of(answer)) + suggestion_list(answer)


def _annotations(answer: Answer) -> list[_Annotation]:
    """A citation for every mark after a sentence; brackets within a sentence are the book's own."""
    text, offset, annotations = _text(answer), 0, []
    citations = {citation.number: citation for citation in cited_sources(answer)}
    for sentence in answer.sentences if citations else ():
        start = text.find(sentence.text, offset)
        offset = start + len(sentence.text) if start >= 0 else offset
        for number in sentence.citations:
            mark = f"[{number}]"
            start = text.find(mark, offset)
            offset = start + len(mark)
            if citation := citations.get(number):
                cited = _UrlCitation(start_index=start, end_index=offset, url=citation.url, title=citation.title)
                annotations.append(_Annotation(url_citation=cited))
    return annotations


def _usage(service: AnswerService, question: str, answer: str) -> _Usage:
    """Tokens as the embedding model counts them."""
    prompt, completion = service.engine.embedder.count_tokens([question, answer])
    return _Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion)


class _ChunkWriter:
    """Writes the chunks of one streamed completion."""

    def __init__(
        self,
        service: AnswerService,
        completion_id: str,
        created: int,
        model: str,
        question: str,
        written: Callable[[Delta], str],
    ) -> None:
        self._service, self._question, self._written = service, question, written
        self._head = {"id": completion_id, "object": "chat.completion.chunk", "created": created, "model": model}

    async def events(
        self, request: Request, first: Delta | AnswerWithReceipt, pieces: AnswerIterator, *, include_usage: bool
    ) -> AsyncIterator[str]:
        text, address = "", ServerAddress.of(request)
        yield self._chunk({"role": "assistant", "content": ""})
        try:
            result = address.result(first) if isinstance(first, AnswerWithReceipt) else None
            if isinstance(first, Delta):
                text += self._written(first)
                yield self._chunk({"content": text})
            async for piece in pieces:
                if isinstance(piece, AnswerWithReceipt):
                    result = address.result(piece)
                else:
                    text += self._written(piece)
                    yield self._chunk({"content": self._written(piece)})
        except Exception as error:
            context = context_of(request)
            problem = with_request(DOOR.problem_from(error), context.request_id, dev=False)
            context.error_code = problem.code
            yield _data(DOOR.render_error(problem).model_dump(mode="json"))
            return
        if result is not None:
            if suggested := suggestion_list(result.answer):
                text += suggested
                yield self._chunk({"content": suggested})
            annotations = [annotation.model_dump() for annotation in _annotations(result.answer)]
            yield self._chunk({"annotations": annotations}, "stop")
        if include_usage:
            usage = _usage(self._service, self._question, text).model_dump()
            yield _data(self._head | {"choices": [], "usage": usage})
        yield "data: [DONE]\n\n"

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return _data(self._head | {"choices": [choice]})


def _data(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
