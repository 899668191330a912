"""Measure a running server by its OpenAI-compatible API: one streamed request, timed at each token.

Whatever a server does, `Client.ask` returns a Timing; of one that failed, the kind of failure and its words.
The key is sent in one header, read from an environment variable, and taken out of every text that is kept.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from array import array
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urljoin, urlsplit

import aiohttp
import msgspec

from gpuwise.errors import InputError, MachineError
from gpuwise.model.units import Latency, visible

Api = Literal["chat", "completions"]
PATHS: dict[Api, str] = {"chat": "chat/completions", "completions": "completions"}
# Of a server's own words, in an error or a failure.
MAX_QUOTED = 200
# A line of a stream that is longer is not one of tokens.
LONGEST_LINE = 1 << 20
CONNECT_S = 10.0
# Servers close connections that were idle for 5 s (uvicorn's default); one that is reused as it is closed
# would look like a failure.
IDLE_S = 3.0
# A server's own count of an answer is none where it is so many times what was asked for and what came.
MOST_TOKENS = 2
# Failures that another path or set of fields would not mend.
UNREACHED = ("connect", "timeout", "redirect", "http-401", "http-429")
# What makes answers as long as asked and counts their tokens; a strict server refuses unknown fields, so each
# set is tried until one is taken.
EXTRAS: tuple[dict[str, Any], ...] = (
    {"ignore_eos": True, "stream_options": {"include_usage": True}},
    {"stream_options": {"include_usage": True}},
    {},
)


class _Text(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _Choice(msgspec.Struct):
    delta: _Text | None = None
    text: str | None = None
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Chunk(msgspec.Struct):
    choices: list[_Choice] = []
    usage: _Usage | None = None
    error: Any = None  # Whatever form a server gives it


_DECODE = msgspec.json.Decoder(_Chunk)


@dataclass(slots=True)
class Timing:
    """One request; times are of `time.monotonic`, as those of the sensors."""

    begun_s: float  # When it was due: in an open loop a client that is late adds to the server's time
    asked: int  # Tokens of the answer that were asked for
    tokens_s: array[float] = field(default_factory=lambda: array("d"))  # Arrival of each chunk with text
    ended_s: float = 0.0
    prompt_tokens: int = 0  # By the server's own count; 0 where it does not say
    answer_tokens: int = 0
    finished: bool = False  # A reason to stop was given, or the end of the stream
    failure: str = ""  # Kind: connect, timeout, http-429, redirect, protocol, cut, empty
    said: str = ""

    @property
    def tokens(self) -> int:
        """Tokens of the answer: the server's count, else chunks with text."""
        return self.answer_tokens or len(self.tokens_s)

    def keeps(self, slo: Sequence[Latency]) -> bool:
        """True where it met every limit; an answer of one token has no time between tokens."""
        begun, first, last = self.begun_s, self.tokens_s[0], self.tokens_s[-1]
        latencies = {"TTFT": first - begun, "TPOT": (last - first) / max(1, self.tokens - 1)}
        return all(latencies[limit.kind] <= limit.seconds for limit in slo)


@dataclass(slots=True, kw_only=True)
class Client:
    """A server with its model; `connect` fills in what is not known yet."""

    url: str  # Up to and with `/v1`
    model: str = ""
    key: str = field(default="", repr=False)
    api: Api = "chat"
    extras: Mapping[str, Any] = field(default_factory=dict)
    timeout_s: float = 120.0
    follow_redirects: bool = False
    engine: str = ""  # What the server says it is
    session: aiohttp.ClientSession | None = field(default=None, repr=False)

    async def __aenter__(self) -> Client:
        # Compressed, tokens would wait for each other, and a small answer could be a large one.
        headers = {"Accept-Encoding": "identity"}
        headers |= {"Authorization": f"Bearer {self.key}"} if self.key else {}
        # Proxies and cookies of this machine are left out: they belong to other programs. limit=0: as many
        # connections as requests, since a queue in the client would look like a slow server.
        self.session = aiohttp.ClientSession(
            headers=headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_S),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
            read_bufsize=LONGEST_LINE,
            auto_decompress=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self.session is not None
        await self.session.close()

    def clean(self, text: str) -> str:
        """Words of the server in one line, without the key and what a terminal would obey."""
        safe = text.replace(self.key, "***") if self.key else text
        # A limit may have cut the key in two.
        cut = next((n for n in range(len(self.key) - 1, 3, -1) if safe.endswith(self.key[:n])), 0)
        safe = f"{safe[:-cut]}***" if cut else safe
        return visible(" ".join(safe.split())[:MAX_QUOTED])

    async def connect(self) -> None:
        """Find model, path and accepted fields. Raises MachineError where no server answers, InputError where
        it speaks another protocol, has no such model, or redirects to another host."""
        models = await self._models()
        if not self.model:
            if len(models) != 1:
                named = f"several models: {', '.join(models[:5])}" if models else "no models"
                raise InputError(f"the server lists {self.clean(named)}", hint="name one", code="model")
            self.model = models[0]
        elif models and self.model not in models:
            listed = ", ".join(models[:5])
            problem = f"the server has no model {self.model!r}, but {self.clean(listed)}"
            raise InputError(problem, hint="name one of them", code="model")
        first, last = None, None
        for api in ("chat", "completions"):
            for extras in EXTRAS:
                self.api, self.extras = api, extras
                last = await self.ask("Count to ten.", 4)
                if not last.failure:
                    return
                first = first or last
                if last.failure not in ("http-400", "http-422"):
                    break  # another set of fields would not help
            if first is not None and first.failure in UNREACHED:
                break
        assert first is not None
        assert last is not None
        said = dict.fromkeys(f"{each.failure}: {each.said}" for each in (first, last))
        problem = f"the server does not answer a request for tokens: {'; and asked for less, '.join(said)}"
        raise MachineError(problem, hint="try it by hand with curl", code="endpoint")

    async def _models(self) -> list[str]:
        """Ids that the server lists; follows redirects where allowed, and remembers where they lead."""
        assert self.session is not None
        for _ in range(3):
            address = f"{self.url}/models"
            try:
                async with self.session.get(
                    address, allow_redirects=False, timeout=aiohttp.ClientTimeout(total=CONNECT_S)
                ) as response:
                    if 300 <= response.status < 400:
                        self._move(urljoin(address, response.headers.get("Location", "")))
                        continue
                    self.engine = self.clean(response.headers.get("Server", ""))
                    body = await _body(response, LONGEST_LINE)
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                said = self.clean(str(getattr(error, "os_error", error))) or type(error).__name__
                problem = f"no server answers at {self.url}: {said}"
                raise MachineError(problem, hint="start the server, or check its address") from error
            if response.status in (401, 403):
                problem = f"the server refuses the key: HTTP {response.status}"
                raise InputError(problem, hint="name the variable that holds it", code="key")
            try:
                listed = msgspec.json.decode(body)["data"] if response.status == 200 else []
                return [str(each["id"]) for each in listed]
            except (msgspec.DecodeError, KeyError, TypeError, RecursionError) as error:
                form = "its list of models is not JSON in OpenAI's form"
                problem = f"{self.url} speaks another protocol: {form}"
                raise InputError(problem, hint="give the address of the API, up to /v1") from error
        raise InputError(f"{self.url} redirects in a circle", hint="give the address it leads to")

    def _move(self, location: str) -> None:
        old, new = urlsplit(self.url), urlsplit(location)
        if new.hostname != old.hostname and not self.follow_redirects:
            problem = f"the server redirects to another host, {self.clean(new.hostname or location)}"
            raise InputError(problem, hint="give that address, or follow redirects", code="redirect")
        # The key of this host is not sent to another one.
        if new.hostname != old.hostname and self.session is not None:
            self.session.headers.pop("Authorization", None)
        self.url = location.removesuffix("/").removesuffix("/models")

    async def ask(self, prompt: str, tokens: int, due_s: float | None = None) -> Timing:
        """Stream one answer of so many tokens. Never raises but where it is cancelled."""
        assert self.session is not None
        body: dict[str, Any] = {"model": self.model, "max_tokens": tokens, **self.extras}
        body |= {"stream": True, "temperature": 0.0}
        if self.api == "chat":
            body["messages"] = [{"role": "user", "content": prompt}]
        else:
            body["prompt"] = prompt
        timing = Timing(begun_s=time.monotonic() if due_s is None else due_s, asked=tokens)
        try:
            async with (
                asyncio.timeout(self.timeout_s),
                self.session.post(
                    f"{self.url}/{PATHS[self.api]}", json=body, allow_redirects=False
                ) as response,
            ):
                if response.status != 200:
                    kind = "redirect" if 300 <= response.status < 400 else f"http-{response.status}"
                    text = (await _body(response, 4096)).decode("utf-8", "replace")
                    timing.failure, timing.said = kind, self.clean(text)
                elif "event-stream" not in response.headers.get("Content-Type", ""):
                    kind = response.headers.get("Content-Type", "none")
                    timing.failure, timing.said = "protocol", self.clean(f"no stream of events, but {kind}")
                else:
                    await self._read(response, timing)
        except TimeoutError:
            timing.failure, timing.said = "timeout", f"no end after {self.timeout_s:g} s"
        except aiohttp.ClientPayloadError as error:
            timing.failure, timing.said = "cut", self.clean(str(error))
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # Before the first token the server was not reached; after it the answer was cut.
            timing.failure = "cut" if timing.tokens_s else "connect"
            timing.said = self.clean(str(error)) or type(error).__name__
        timing.ended_s = time.monotonic()
        return timing

    async def _read(self, response: aiohttp.ClientResponse, timing: Timing) -> None:
        """Events until the stream ends. One wake-up for each packet, not for each line: at a thousand streams
        the client would be what is measured."""
        rest = b""
        async for packet in response.content.iter_any():
            now_s = time.monotonic()
            *lines, rest = (rest + packet).split(b"\n")
            for line in lines:
                if line.startswith(b"data:") and not self._event(line[5:].strip(), timing, now_s):
                    return
            if len(rest) > LONGEST_LINE:
                timing.failure, timing.said = "protocol", "a line of more than 1 MiB"
                return
        if not timing.finished:
            timing.failure, timing.said = "cut", "the stream ended before the answer"
        elif not timing.tokens_s:
            timing.failure, timing.said = "empty", "an answer without text"

    def _event(self, data: bytes, timing: Timing, now_s: float) -> bool:
        """Note one event; False where nothing after it counts."""
        if data == b"[DONE]":
            timing.finished = True
            return True
        try:
            chunk = _DECODE.decode(data)
        except (msgspec.DecodeError, RecursionError):
            timing.failure, timing.said = "protocol", self.clean(data.decode("utf-8", "replace"))
            return False
        if chunk.error is not None:
            timing.failure, timing.said = "server-error", self.clean(str(chunk.error))
            return False
        for choice in chunk.choices:
            delta = choice.delta
            if choice.text or (delta and (delta.content or delta.reasoning_content or delta.reasoning)):
                timing.tokens_s.append(now_s)
            timing.finished = timing.finished or choice.finish_reason is not None
        if chunk.usage is not None:
            counted, known = chunk.usage.completion_tokens, max(timing.asked, len(timing.tokens_s))
            if not 0 <= counted <= MOST_TOKENS * known:
                timing.failure, timing.said = "protocol", f"it counts {counted:,} tokens where {known} came"
                return False
            timing.prompt_tokens = chunk.usage.prompt_tokens
            timing.answer_tokens = chunk.usage.completion_tokens
        return True


async def _body(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The body up to `most` bytes; one `read` would give what has arrived."""
    data = b""
    while len(data) < most and (packet := await response.content.read(most - len(data))):
        data += packet
    return data


def address(text: str) -> str:
    """The API's address up to `/v1` of what a user types. Raises InputError."""
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        host = (parts.hostname or "").encode("idna")
        sound = parts.scheme in ("http", "https") and host and parts.port != 0
    except ValueError:  # also of a name that no network has
        sound = False
    if not sound:
        raise InputError("the address of a server is a URL", hint="such as http://localhost:8000/v1")
    # What stands there would be kept in the result's command.
    if parts.username or parts.password or parts.query:
        raise InputError("an address holds no key, password or query", hint="name the variable", code="key")
    path = parts.path.rstrip("/")
    for known in PATHS.values():
        path = path.removesuffix(f"/{known}")
    return f"{parts.scheme}://{parts.netloc}{path if path.endswith('/v1') else path + '/v1'}"


def run(work: Coroutine[Any, Any, None]) -> None:
    """`asyncio.run`, which SIGTERM and SIGHUP end as Ctrl-C does where they would raise KeyboardInterrupt.

    asyncio answers Ctrl-C by cancelling the main task; an error raised by a signal's handler would be that of
    whichever task runs, and be printed as one that nobody read. Raises KeyboardInterrupt.
    """

    async def main() -> None:
        # Handlers are the main thread's to set; elsewhere asyncio leaves Ctrl-C as it is too.
        ours = threading.current_thread() is threading.main_thread()
        raising = [s for s in signal.valid_signals() if signal.getsignal(s) is signal.default_int_handler]
        alike = raising if ours else []
        for sign in alike:
            signal.signal(sign, signal.getsignal(signal.SIGINT))
        try:
            await work
        finally:
            for sign in alike:
                signal.signal(sign, signal.default_int_handler)

    asyncio.run(main())
