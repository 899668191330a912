"""`gpuwise bench --endpoint` against a server that answers at a fixed pace, and against ones at fault."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from gpuwise import store
from gpuwise.measure.endpoint import MAX_QUOTED, Client, Timing, address, run
from gpuwise.measure.endpoint.load import lengths
from gpuwise.model.result import Measurement
from gpuwise.show import serving

from ..fake_server import Fake

Call = Callable[..., tuple[int, str, str]]
QUICK = ("--prompt", "64", "--answer", "8", "--concurrency", "2", "--time", "500ms")
KEY = "sk-a-secret-that-nobody-may-see"


@pytest.fixture
def server() -> Iterator[Callable[..., tuple[str, Fake]]]:
    """Starts servers in a thread of their own: (address, what it does and was asked)."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runners = []

    async def started(fake: Fake) -> int:
        # A client that leaves cancels what it asked for.
        runner = web.AppRunner(fake.app(), handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        runners.append(runner)
        return int(runner.addresses[0][1])

    def start(**given: object) -> tuple[str, Fake]:
        fake = Fake(**given)  # type: ignore[arg-type]
        port = asyncio.run_coroutine_threadsafe(started(fake), loop).result(10)
        return f"http://127.0.0.1:{port}", fake

    yield start
    for runner in runners:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


def measured() -> list[Measurement]:
    (kept,) = store.saved()
    return list(store.load(kept).measurements)


def test_what_is_paced_is_measured_as_paced(
    gpuwise: Call, server: Callable[..., tuple[str, Fake]], slowness: float
) -> None:
    url, fake = server(first_s=0.05, token_s=0.01)
    levels = ("--concurrency", "1,4", "--rate", "8", "--time", "1s", "--slo", "TTFT<=5s,TPOT<=1s")
    code, out, err = gpuwise("bench", "--endpoint", url, "--prompt", "100", "--answer", "16", *levels)
    assert code == 0, err
    one, four, open_loop = measured()
    for m in (one, four, open_loop):
        assert m.serving is not None
        assert m.serving.first_token_s is not None
        assert m.serving.per_token_s is not None
        assert m.serving.goodput_per_s is not None
        assert m.serving.failures == ()
        assert m.serving.first_token_s.p50.value == pytest.approx(0.05, rel=0.3 * slowness)
        assert m.serving.per_token_s.p50.value == pytest.approx(0.01, rel=0.1 * slowness)
        assert m.serving.answer_tokens == 16
        assert m.serving.prompt_tokens == pytest.approx(100, abs=2)
    assert one.throughput is not None
    assert one.throughput.value == pytest.approx(16 / 0.2, rel=0.15 * slowness)
    assert one.config.key() == "served:fake:infer:bf16:eager:stock:server:p100:a16:1 at once"
    assert "8 requests/s" in out
    assert fake.bodies[-1]["ignore_eos"] is True
    # The same seed asks the same; every prompt is another.
    prompts = [body["messages"][0]["content"] for body in fake.bodies]
    assert len(set(prompts)) == len(prompts)


@pytest.mark.parametrize(("time_s", "window_s"), [(0.1, 0.8), (0.7, 0.8), (1.0, 1.0)])
def test_a_window_is_no_shorter_than_two_requests(
    gpuwise: Call, server: Callable[..., tuple[str, Fake]], slowness: float, time_s: float, window_s: float
) -> None:
    url, _ = server(first_s=0.1, token_s=0.02)
    levels = ("--prompt", "64", "--answer", "16", "--concurrency", "4", "--time", f"{time_s}s")
    assert gpuwise("bench", "--endpoint", url, *levels)[0] == 0
    (m,) = measured()
    assert m.serving is not None
    # Four that go in step begin twice in it, and never all outside.
    assert 4 <= m.serving.requests <= 16
    assert m.serving.window_s == pytest.approx(window_s, rel=0.1 * slowness)


def test_it_is_shown_compared_and_reported_as_every_result(
    gpuwise: Call, server: Callable[..., tuple[str, Fake]], tmp_path: Path
) -> None:
    files = [str(tmp_path / name) for name in ("a.json", "b.json")]
    for file, pace in zip(files, (0.002, 0.01), strict=True):
        url, _ = server(token_s=pace)
        two = ("--prompt", "64", "--answer", "16", "--concurrency", "1,2", "--time", "1s", "-o", file)
        assert gpuwise("bench", "--endpoint", url, *two)[0] == 0
    code, out, _ = gpuwise("show", files[0])
    assert (code, "TTFT p99" in out, "2 at once" in out) == (0, True, True)
    code, out, _ = gpuwise("compare", *files, "--json")
    pairs = json.loads(out)["comparisons"][0]["pairs"]
    assert (code, [pair["verdict"] for pair in pairs]) == (0, ["slower", "slower"])
    code, out, _ = gpuwise("report", files[0])
    assert (code, "Under load" in out) == (0, True)
    assert gpuwise("compare", *files, "--fail-if", "slower>5%")[0] == 1
    assert "served:fake" in gpuwise("results", "served:fake", "--file", files[0])[1]
    code, _, err = gpuwise("reproduce", files[0])
    assert (code, "ask it again: gpuwise bench --endpoint" in err) == (2, True)
    # Of an answer that came whole the tokens took no time: no point of a logarithmic axis.
    found = store.load(Path(files[0]))
    assert serving.chart(found) is not None
    m = found.measurements[-1]
    per = m.serving.per_token_s
    whole = replace(m.serving, per_token_s=replace(per, p50=replace(per.p50, value=0.0, low=0.0)))
    changed = replace(found, measurements=(*found.measurements[:-1], replace(m, serving=whole)))
    assert serving.chart(changed) is None


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("garbage", "protocol"),
        ("stops", "cut"),
        ("no end", "cut"),
        ("error event", "server-error"),
        ("429", "http-429"),
        ("hangs", "timeout"),
        ("one JSON", "protocol"),
    ],
)
def test_a_fault_in_the_run_is_counted(
    gpuwise: Call, server: Callable[..., tuple[str, Fake]], fault: str, kind: str
) -> None:
    url, _ = server(fault=fault, after=8)
    code, _, err = gpuwise("bench", "--endpoint", url, *QUICK, "--timeout", "1s")
    (m,) = measured()
    assert m.serving is not None
    assert [each.kind for each in m.serving.failures] == [kind]
    assert "failed-requests" in [issue.code for issue in m.cautions]
    assert (code, m.status) in ((0, "ok"), (4, "failed"))
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("event", "failure"),
    [
        (b'{"usage": {"completion_tokens": 16}}', ""),
        (b'{"usage": {"completion_tokens": 17}}', "protocol"),  # of 8 that were asked for
        (b'{"usage": {"completion_tokens": 0}}', ""),
        (b'{"usage": {"completion_tokens": -1}}', "protocol"),
        (b'{"choices": ' + b"[" * 100_000, "protocol"),
        (b"[" * 100_000, "protocol"),
    ],
)
def test_what_a_server_cannot_mean_is_a_failure(event: bytes, failure: str) -> None:
    timing = Timing(begun_s=0.0, asked=8)
    assert Client(url="")._event(event, timing, 1.0) == (failure == "")
    assert timing.failure == failure


@pytest.mark.parametrize("before", [MAX_QUOTED - 10, 4096 - 10])
def test_a_key_is_not_shown_in_part(before: int) -> None:
    """Where a server's words are cut within it: garbage at 200 bytes, the body of an error at 4,096."""
    client, timing = Client(url="", key=KEY), Timing(begun_s=0.0, asked=8)
    client._event(b"x" * (before - 8) + b" Bearer " + KEY.encode(), timing, 1.0)
    body = (" " * before + KEY)[: before + 10]
    for said in (timing.said, client.clean(body), client.clean(f"bad key {KEY[:9]}")):
        assert KEY[:4] not in said
    assert client.clean(f"bad key {KEY}, sir") == "bad key ***, sir"


def test_fewer_tokens_than_asked_are_said(gpuwise: Call, server: Callable[..., tuple[str, Fake]]) -> None:
    url, _ = server(fault="fewer tokens")
    assert gpuwise("bench", "--endpoint", url, *QUICK)[0] == 0
    (m,) = measured()
    assert m.serving is not None
    assert m.serving.short == m.serving.requests
    assert m.serving.answer_tokens == 4
    assert "short-answers" in [issue.code for issue in m.cautions]


@pytest.mark.parametrize(("fault", "left_out"), [("strict", "ignore_eos"), ("no chat", "messages")])
def test_a_server_that_knows_less_is_asked_for_less(
    gpuwise: Call, server: Callable[..., tuple[str, Fake]], fault: str, left_out: str
) -> None:
    url, fake = server(fault=fault)
    assert gpuwise("bench", "--endpoint", url, *QUICK)[0] == 0
    assert left_out not in fake.bodies[-1]


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        ("other protocol", 2, "speaks another protocol"),
        ("deep", 2, "speaks another protocol"),
        ("two models", 2, "--model NAME"),
        ("no list", 2, "no models"),
        ("429", 3, "http-429"),
    ],
)
def test_what_cannot_be_measured_is_said_at_once(
    gpuwise: Call, server: Callable[..., tuple[str, Fake]], fault: str, code: int, said: str
) -> None:
    url, _ = server(fault=fault)
    found, out, err = gpuwise("bench", "--endpoint", url, *QUICK)
    assert (found, out) == (code, "")
    assert said in err
    assert store.saved() == ()


@pytest.mark.parametrize(("fault", "named"), [("no list", ("--model", "fake")), ("slow list", ())])
def test_a_list_of_models_is_none_or_comes_in_parts(
    gpuwise: Call, server: Callable[..., tuple[str, Fake]], fault: str, named: tuple[str, ...]
) -> None:
    url, fake = server(fault=fault)
    assert gpuwise("bench", "--endpoint", url, *QUICK, *named)[0] == 0
    assert fake.bodies[-1]["model"] == "fake"


def test_no_server(gpuwise: Call) -> None:
    code, _, err = gpuwise("bench", "--endpoint", "http://127.0.0.1:9", *QUICK)
    assert (code, "no server answers at http://127.0.0.1:9/v1" in err) == (3, True)
    assert "ssl:" not in err  # aiohttp's own words of a connection that has none


def test_another_host_is_not_followed_without_a_word(
    gpuwise: Call, server: Callable[..., tuple[str, Fake]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVER_KEY", KEY)
    there, fake = server()
    url, _ = server(fault="redirect", target=there.replace("127.0.0.1", "localhost"))
    asked = ("bench", "--endpoint", url, *QUICK, "--key-env", "SERVER_KEY")
    code, _, err = gpuwise(*asked)
    assert (code, "another host, localhost" in err, "--follow-redirects" in err) == (2, True, True)
    assert fake.headers == []
    assert gpuwise(*asked, "--follow-redirects")[0] == 0
    assert all("Authorization" not in headers for headers in fake.headers)


def test_the_key_is_sent_and_kept_nowhere(
    gpuwise: Call, server: Callable[..., tuple[str, Fake]], monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setenv("SERVER_KEY", KEY)
    url, fake = server(fault="leaks the key", after=6)
    _, out, err = gpuwise("bench", "--endpoint", url, *QUICK, "--key-env", "SERVER_KEY")
    assert all(headers["Authorization"] == f"Bearer {KEY}" for headers in fake.headers)
    written = out + err + "".join(path.read_text() for path in home.rglob("*") if path.is_file())
    assert "Bearer ***" in written
    assert KEY not in written
    code, _, err = gpuwise("bench", "--endpoint", url, *QUICK, "--key-env", "NO_SUCH_KEY")
    assert (code, "NO_SUCH_KEY is empty" in err) == (2, True)


def test_requests_of_a_file(gpuwise: Call, server: Callable[..., tuple[str, Fake]], tmp_path: Path) -> None:
    url, fake = server()
    asked = tmp_path / "asked.jsonl"
    rows: list[dict[str, object]] = [{"prompt": "hello", "answer_tokens": 3}, {"prompt_tokens": 40}]
    asked.write_text("\n".join(map(json.dumps, rows)) + "\n")
    assert gpuwise("bench", "--endpoint", url, *QUICK, "--dataset", str(asked))[0] == 0
    asked_for = {(body["messages"][0]["content"] == "hello", body["max_tokens"]) for body in fake.bodies[4:]}
    assert {(True, 3), (False, 8)} <= asked_for
    for second in ('{"tokens": 3}', '{"prompt_tokens": 1e999}', "[" * 100_000, "3", "\0"):
        asked.write_text(f'{{"prompt_tokens": 40}}\n{second}\n')
        code, _, err = gpuwise("bench", "--endpoint", url, *QUICK, "--dataset", str(asked))
        assert (code, "asked.jsonl" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bench", "--concurrency", "4"), "--concurrency is for a running server"),
        (("bench", "resnet50", "--endpoint", "localhost:1"), "WORKLOAD means nothing for a server"),
        (("bench", "--endpoint", "localhost:1", "--suite", "full"), "--suite means nothing for a server"),
        (("bench", "--endpoint", "ftp://x"), "the address of a server is a URL"),
        (("bench", "--endpoint", ""), "the address of a server is a URL"),
        (("bench", "--endpoint", "http://["), "the address of a server is a URL"),
        (("bench", "--endpoint", "x" * 64), "the address of a server is a URL"),
        (("bench", "--endpoint", "http://me:secret@host"), "holds no key"),
        (("bench", "--endpoint", "localhost:1", "--prompt", "many"), "as a number of tokens"),
        (("bench", "--endpoint", "localhost:1", "--prompt", "9..3"), "the wrong way round"),
        (("bench", "--endpoint", "localhost:1", "--concurrency", "0"), "a number of requests"),
        (("bench", "--endpoint", "localhost:1", "--rate", "fast"), "fast"),
        (("bench", "--endpoint", "localhost:1", "--slo", "TPOT<=50"), "TPOT<=50ms"),
    ],
)
def test_what_is_typed_wrong(gpuwise: Call, words: tuple[str, ...], said: str) -> None:
    code, out, err = gpuwise(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert "secret" not in err


def test_addresses_and_lengths() -> None:
    for text in ("localhost:8000", "http://localhost:8000/", "http://localhost:8000/v1/chat/completions"):
        assert address(text) == "http://localhost:8000/v1"
    assert (lengths("1024~300").low, lengths("1024~300").high) == (1024, 300)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_lost_terminal_keeps_what_was_measured(
    sign: signal.Signals, server: Callable[..., tuple[str, Fake]], tmp_path: Path
) -> None:
    url, _ = server(first_s=0.01, token_s=0.001)
    words = ["bench", "--endpoint", url, *QUICK[:4], "--concurrency", "1,2,3,4", "--time", "1s"]
    command = [sys.executable, "-m", "gpuwise", *words]
    with subprocess.Popen(
        command, env={**os.environ, "GPUWISE_HOME": str(tmp_path)}, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    ) as running:  # fmt: skip
        until = time.monotonic() + 60
        while not (kept := [*(tmp_path / "results").glob("*.json")]) and time.monotonic() < until:
            time.sleep(0.02)
        running.send_signal(sign)
        _, said = running.communicate(timeout=30)
    assert running.returncode == 130, said
    assert "Traceback" not in said
    statuses = [m.status for m in store.load(kept[0]).measurements]
    assert statuses[0] == "ok"
    assert 0 < statuses.count("ok") < 4


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_main_task_not_the_one_that_runs(sign: signal.Signals) -> None:
    signal.signal(sign, signal.default_int_handler)
    raised: list[KeyboardInterrupt] = []

    async def receives() -> None:
        try:
            signal.raise_signal(sign)
        except KeyboardInterrupt as error:
            raised.append(error)

    async def work() -> None:
        await asyncio.create_task(receives())
        await asyncio.sleep(30)

    with pytest.raises(KeyboardInterrupt):
        run(work())
    assert (raised, signal.getsignal(sign)) == ([], signal.default_int_handler)
