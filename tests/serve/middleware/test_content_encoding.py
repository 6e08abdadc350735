"""Encoded request bodies: none is decoded, so every encoding is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from api_requests import JSON, OTHER_POSTS, QUESTIONS, error_of
from doors import serving


async def test_encoded_bodies_are_refused_at_every_door(empty_data: Path) -> None:
    async with serving(empty_data) as client:
        for path, body in (QUESTIONS | OTHER_POSTS).items():
            plain = json.dumps(body).encode()
            for content in (plain, gzip.compress(plain)):
                response = await client.post(path, content=content, headers=JSON | {"Content-Encoding": "gzip"})
                assert error_of(response) == (415, "UNSUPPORTED_MEDIA_TYPE")
                assert response.headers["accept-encoding"] == "identity"
                assert "Content-Encoding" in response.text


async def test_every_encoding_but_identity_is_refused(data: Path) -> None:
    async with serving(data) as client:

        async def status(*encodings: str) -> int:
            headers = [*JSON.items(), *(("Content-Encoding", encoding) for encoding in encodings)]
            return (await client.post("/ask", json=QUESTIONS["/ask"], headers=headers)).status_code

        for encoding in ("gzip", "GZIP", "br", "deflate", "zstd", "identity, gzip", "x", "aes128gcm"):
            assert await status(encoding) == 415, encoding
        for encoding in ("identity", "Identity", ""):
            assert await status(encoding) == 200, encoding
        assert await status("", "gzip") == 415
