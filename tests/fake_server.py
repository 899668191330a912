"""A server that answers as OpenAI's API does, token by token at a fixed pace; faults by name.

python tests/fake_server.py --port 8000 --first 0.05 --token 0.01
"""

from __future__ import annotations

import argparse
import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

PIECE = 'data: {"id":"1","object":"chat.completion.chunk","model":"fake","choices":[{"index":0,%s}]}\n\n'


@dataclass
class Fake:
    """What it does, and what it was asked."""

    first_s: float = 0.01
    token_s: float = 0.002
    fault: str = ""
    model: str = "fake"
    after: int = 0  # Requests for tokens that are answered well before the fault begins
    target: str = ""  # Of a redirect
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/health", self.models)
        app.router.add_get("/v1/models", self.models)
        app.router.add_post("/v1/chat/completions", self.answer)
        app.router.add_post("/v1/completions", self.answer)
        return app

    async def models(self, request: web.Request) -> web.StreamResponse:
        self.headers.append(dict(request.headers))
        if self.fault == "redirect":
            raise web.HTTPTemporaryRedirect(f"{self.target}/v1/models")
        if self.fault == "other protocol":
            return web.Response(text="<html>a shop</html>", content_type="text/html")
        if self.fault == "deep":
            return web.Response(text="[" * 100_000, content_type="application/json")
        if self.fault == "no list":
            return web.Response(status=404)
        if self.fault == "slow list":
            stream = web.StreamResponse(headers={"Content-Type": "application/json"})
            await stream.prepare(request)
            for part in ('{"data": [{"id":', f'"{self.model}"}}]}}'):
                await stream.write(part.encode())
                await asyncio.sleep(0.1)
            return stream
        listed = [self.model, "other"] if self.fault == "two models" else [self.model]
        return web.json_response({"object": "list", "data": [{"id": name} for name in listed]})

    async def answer(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self.stream(request)
        except ConnectionError:  # the client has gone: its load has ended
            return web.Response()

    async def stream(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        fault = self.fault if len(self.bodies) > self.after else ""
        chat = "messages" in body
        if fault == "429":
            return web.json_response({"error": "slow down"}, status=429, headers={"Retry-After": "1"})
        if fault == "leaks the key":
            return web.json_response({"error": f"bad key {request.headers.get('Authorization')}"}, status=500)
        if fault == "strict" and {"ignore_eos", "stream_options"} & body.keys():
            return web.json_response({"error": "unknown field"}, status=400)
        if fault == "no chat" and chat:
            return web.Response(status=404)
        if fault == "one JSON":
            return web.json_response({"choices": [{"message": {"content": "all at once"}}]})
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Server": "fake/1.0"})
        await stream.prepare(request)
        said = body["messages"][0]["content"] if chat else body["prompt"]
        text = said if isinstance(said, str) else " ".join(part["text"] for part in said)
        asked = int(body.get("max_tokens") or body["max_completion_tokens"])
        count = asked // 2 if fault == "fewer tokens" else asked
        await asyncio.sleep(self.first_s)
        word = '"delta":{"content":" w"},"finish_reason":null' if chat else '"text":" w","finish_reason":null'
        piece = (PIECE % word).encode()
        began = asyncio.get_running_loop().time()
        for number in range(count):
            if number:
                # To the clock, not from the last token: a busy machine makes no server slower by and by.
                await asyncio.sleep(began + number * self.token_s - asyncio.get_running_loop().time())
            if fault == "garbage" and number == 2:
                await stream.write(b"data: \x00\xff not json\n\n")
            if fault == "stops" and number == 2:
                assert request.transport is not None
                request.transport.close()
                return stream
            if fault == "hangs" and number == 2:
                await asyncio.sleep(60)
            if fault == "error event" and number == 2:
                await stream.write(b'data: {"error":{"message":"out of memory"}}\n\n')
            await stream.write(piece)
        if fault != "no end":
            end = '"delta":{},"finish_reason":"length"' if chat else '"text":"","finish_reason":"length"'
            await stream.write((PIECE % end).encode())
        if body.get("stream_options", {}).get("include_usage"):
            # A tokenizer of 1.5 tokens a word and ten of its own.
            usage = {"prompt_tokens": 10 + int(1.5 * len(text.split())), "completion_tokens": count}
            await stream.write(f"data: {json.dumps({'choices': [], 'usage': usage})}\n\n".encode())
        if fault != "no end":
            await stream.write(b"data: [DONE]\n\n")
        return stream


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--first", type=float, default=0.05)
    parser.add_argument("--token", type=float, default=0.01)
    parser.add_argument("--model", default="fake")
    given = parser.parse_args()
    fake = Fake(first_s=given.first, token_s=given.token, model=given.model)
    web.run_app(fake.app(), host="127.0.0.1", port=given.port, print=None)


if __name__ == "__main__":
    main()
