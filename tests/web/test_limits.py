"""What clients that mean harm can take from others: neither time nor places, memory or the log."""

from __future__ import annotations

import asyncio
import http.client
import re
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from starlette.requests import ClientDisconnect
from starlette.testclient import TestClient
from starlette.types import Message
from uvicorn import Server

from gpuwise.errors import InputError, NoDataError, check_wanted
from gpuwise.jobs.facts import Facts
from gpuwise.show.table import Table
from gpuwise.web import guard, site
from gpuwise.web.guard import Answer, Reader
from gpuwise.web.server import create, server
from gpuwise.web.view import Asked, View

HALF_OPEN = 1_100
FORM = "multipart/form-data; boundary=x"
PART = b'\r\n--x\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'


async def never() -> Message:
    await asyncio.sleep(3600)
    return {}


def busy(question: dict[str, str], data: bytes) -> Answer:
    """Holds the interpreter in one call for longer than anybody waits."""
    if question.get("began"):
        Path(question["began"]).touch()
    re.fullmatch(r"(a+)+b", "a" * 40)
    return 200, "text/plain", b""


def asleep(question: dict[str, str], data: bytes) -> Answer:
    """Takes no time of a processor."""
    time.sleep(60)
    return 200, "text/plain", b""


def hungry(question: dict[str, str], data: bytes) -> Answer:
    return 200, "text/plain", b" " * int(question["bytes"])


def comes_true(condition: Callable[[], object], within_s: float = 30.0) -> bool:
    """Whether it holds, which need not be at once."""
    until = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def template_of(work: guard.Work) -> tuple[Reader, psutil.Process]:
    """A reader, and the process whose children read its files."""
    before = psutil.Process().children()
    reader = Reader(work)
    (template,) = (each for each in psutil.Process().children() if each not in before)
    return reader, template


@pytest.mark.parametrize(("work", "waits"), [(busy, 1000), (asleep, 1)])
def test_a_file_that_takes_too_long_is_given_up(
    work: guard.Work, waits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "DEADLINE_S", 0.5)
    monkeypatch.setattr(guard, "WAITS", waits)  # by the clock; by the processor it is one second
    read, template = template_of(work)
    began = time.monotonic()
    with pytest.raises(InputError, match="takes more than"):
        asyncio.run(read({}, b"", never))
    assert time.monotonic() - began < 30
    assert comes_true(lambda: not template.children())


def test_a_file_that_takes_too_much_memory_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "ROOM", 2**27)
    read = Reader(hungry)
    assert len(asyncio.run(read({"bytes": str(2**24)}, b"", never))[2]) == 2**24
    with pytest.raises(InputError, match="too much memory"):
        asyncio.run(Reader(hungry)({"bytes": str(2**28)}, b"", never))


def test_work_ends_when_its_client_leaves(tmp_path: Path) -> None:
    (read, template), began = template_of(busy), tmp_path / "began"

    async def leaves() -> Message:
        while not began.exists():
            await asyncio.sleep(0.01)
        return {"type": "http.disconnect"}

    with pytest.raises(ClientDisconnect):
        asyncio.run(read({"began": str(began)}, b"", leaves))
    assert comes_true(lambda: not template.children())


def test_whole_files_come_back_beside_a_hostile_one() -> None:
    def work(question: dict[str, str], data: bytes) -> Answer:
        return busy(question, data) if question else (201, "text/csv", data[::-1])

    async def both() -> Answer:
        read = Reader(work)
        task = asyncio.create_task(read({"is": "hostile"}, b"", never))
        found = await read({}, b"a\nb" * 1_000_000, never)
        task.cancel()
        return found

    assert asyncio.run(both()) == (201, "text/csv", b"b\na" * 1_000_000)


@contextmanager
def running(servers: list[Server] | None = None) -> Iterator[int]:
    """The port of an explorer in a thread of this process, which is added to `servers`."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        one = server(create(Facts()))
        if servers is not None:
            servers.append(one)
        thread = threading.Thread(target=lambda: asyncio.run(one.serve([listening])))
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            one.should_exit = one.force_exit = True
            thread.join(10)


Connect = Callable[[int], socket.socket]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Opens connections that are closed when the test ends."""
    with ExitStack() as opened:
        yield lambda port: opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))


def is_closed(client: socket.socket, within_s: float) -> bool:
    client.settimeout(within_s)
    with suppress(ConnectionError):
        while client.recv(2**16):
            pass
    return True


def answers(port: int, path: str = "/") -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path)
    status = connection.getresponse().status
    connection.close()
    return status


def has_heard(port: int) -> None:
    """What the server was sent before is read, and who left is known to have left, when this returns."""
    assert answers(port, "/static/live.js") == 200


def test_a_header_that_never_ends_is_given_up(
    home: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "SLOWEST_HEADER_S", 0.3)
    with running() as port:
        # One at once, and one on a connection that was answered before.
        for first in (b"", b"GET /static/live.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"):
            client = connect(port)
            client.sendall(first + b"GET / HTTP/1.1\r\nHost: 127")
            assert is_closed(client, 5)


def test_a_connection_that_asks_nothing_more_is_closed(
    home: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuwise.web.server.IDLE_S", 0.3)
    with running() as port:
        client = connect(port)
        client.sendall(b"GET /static/live.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert is_closed(client, 5)


def test_the_one_that_waited_longest_makes_room(
    home: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "MOST_CONNECTIONS", 5)
    with running() as port:
        held = [connect(port) for _ in range(5)]
        for client in held:
            client.sendall(b"GET / HTTP/1.1\r\n")
        assert answers(port) == 200
        assert is_closed(held[0], 5)


def test_a_reader_that_stops_does_not_hold_its_page(
    home: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "SLOWEST_READER_S", 0.3)
    page = View(
        title="", template="upload.html", table=Table(columns=("a",), rows=()), document=lambda: b" " * 2**25
    )
    addresses = [
        replace(each, view=lambda *_: page) if each.path == "/predict" else each for each in site.ADDRESSES
    ]
    monkeypatch.setattr("gpuwise.web.server.ADDRESSES", addresses)
    servers: list[Server] = []
    with running(servers) as port:
        # More than both sides buffer.
        connect(port).sendall(b"GET /predict.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        connections = servers[0].server_state.connections
        assert comes_true(lambda: connections)
        assert comes_true(lambda: not connections)


def test_a_page_that_nobody_waits_for_is_not_made(
    home: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, made = threading.Event(), list[str]()

    def slow(facts: Facts, asked: Asked) -> View:
        made.append(asked.text("n"))
        goes_on.wait(60)
        raise NoDataError("nothing")

    addresses = [replace(each, view=slow) if each.path == "/predict" else each for each in site.ADDRESSES]
    monkeypatch.setattr("gpuwise.web.server.ADDRESSES", addresses)
    servers: list[Server] = []
    with running(servers) as port:
        clients = []
        for number in range(guard.READING + 2):
            clients.append(connect(port))
            asked = f"GET /predict?n={number} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
            clients[-1].sendall(asked.encode())
            has_heard(port)
            assert comes_true(lambda: len(made) == min(len(clients), guard.READING))
        clients[guard.READING].close()  # it still waits for its turn
        assert comes_true(lambda: len(servers[0].server_state.connections) < len(clients))
        has_heard(port)
        goes_on.set()
        # The turns are free for others.
        assert {answers(port, path) for path in ("/gpus", "/", "/gpus/l4")} == {200}
        assert sorted(made) == [str(n) for n in range(guard.READING + 2) if n != guard.READING]


def test_a_page_ends_at_its_next_part_when_its_last_reader_leaves(
    home: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, ended, spins = threading.Semaphore(0), threading.Event(), threading.Event()
    spins.set()

    def endless(facts: Facts, asked: Asked) -> View:
        began.release()
        try:
            while spins.wait(0.001):
                check_wanted()
        finally:
            ended.set()
        raise NoDataError("nothing")

    addresses = [replace(each, view=endless) if each.path == "/predict" else each for each in site.ADDRESSES]
    monkeypatch.setattr("gpuwise.web.server.ADDRESSES", addresses)
    servers: list[Server] = []
    with running(servers) as port, ThreadPoolExecutor(1) as pool:
        readers = [connect(port) for _ in range(2)]
        for reader in readers:
            reader.sendall(b"GET /predict HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        try:
            assert began.acquire(timeout=10)
            has_heard(port)
            readers[0].close()
            assert comes_true(lambda: len(servers[0].server_state.connections) < 2)
            assert not ended.wait(0.2)  # the other one still waits
            readers[1].close()
            assert ended.wait(10)
            again = pool.submit(answers, port, "/predict")
            assert began.acquire(timeout=10)
        finally:
            spins.clear()
        assert again.result() == 404
        # All turns are free.
        assert {answers(port, path) for path in ("/gpus", "/", "/gpus/l4")} == {200}


@pytest.mark.parametrize("turns", range(8))
def test_an_answer_that_comes_with_its_question_is_given(turns: int) -> None:
    said = iter([{"type": "http.request"}])

    async def receive() -> Message:
        await asyncio.sleep(0)
        return next(said, None) or await asyncio.get_running_loop().create_future()

    async def both() -> bool:
        async def work() -> bool:
            for _ in range(turns):
                await asyncio.sleep(0)
            return True

        body = guard.Body(receive, guard.Guard(work))  # type: ignore[arg-type]
        working = guard.unless_left(asyncio.ensure_future(work()), body.receive)
        return await asyncio.wait_for(working, 1.0)

    assert asyncio.run(both())


def test_a_page_is_made_once_for_all_who_wait_for_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[object]()

    def slow(facts: Facts, asked: Asked) -> View:
        made.append(asked)
        time.sleep(0.3)
        raise NoDataError("nothing")

    addresses = [replace(each, view=slow) if each.path == "/predict" else each for each in site.ADDRESSES]
    monkeypatch.setattr("gpuwise.web.server.ADDRESSES", addresses)
    with running() as port, ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: answers(port, "/predict"), range(8))) == {404}
    assert len(made) == 1


def test_work_is_done_in_its_order_and_refused_where_it_would_wait_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def crowd(most_s: float) -> tuple[list[int], list[object]]:
        monkeypatch.setattr(guard, "LONGEST_WAIT_S", most_s)
        queue, done = guard.Queue(1), list[int]()
        work = [queue.run(partial(done.append, number)) for number in range(8)]
        return done, [each for each in await asyncio.gather(*work, return_exceptions=True) if each]

    # A new queue takes 0.1 s for each: the fifth would wait for 0.4 s.
    assert asyncio.run(crowd(0.71)) == ([*range(8)], [])
    done, refused = asyncio.run(crowd(0.35))
    assert done == [0, 1, 2, 3]
    assert [(each.status, each.wait_s) for each in refused if isinstance(each, guard.Refused)] == [
        (503, 1)
    ] * 4


def test_all_uploads_together_have_a_limit(
    home: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    came, hold = list[int](), guard.Guard.hold

    def counted(self: guard.Guard, size: int) -> None:
        came.append(size)
        hold(self, size)

    monkeypatch.setattr(guard.Guard, "hold", counted)
    monkeypatch.setattr(guard, "LARGEST_TOGETHER", 300_000)
    head = (
        f"POST /audit HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {FORM}\r\nContent-Length: 250000\r\n\r\n"
    )
    servers: list[Server] = []
    with running(servers) as port:
        held = [connect(port) for _ in range(2)]
        held[0].sendall(head.encode() + PART + b"a" * 200_000)
        assert comes_true(lambda: sum(came) > 200_000)
        held[1].sendall(head.encode() + PART + b"a" * 200_000)
        assert b" 503 " in held[1].recv(100)
        for client in held:
            client.close()
        assert comes_true(lambda: not servers[0].server_state.connections)
        has_heard(port)
        again = connect(port)
        end = b"\r\n--x--\r\n"
        again.sendall(head.encode() + PART + b"a" * (250_000 - len(PART) + 2 - len(end)) + end)
        again.settimeout(10)
        assert b" 200 " in again.recv(100)


def test_a_cancelled_upload_is_no_news(
    home: Path, connect: Connect, capfd: pytest.CaptureFixture[str]
) -> None:
    with running() as port:
        for _ in range(3):
            client = connect(port)
            head = f"POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM}\r\nLength: 99\r\n"
            client.sendall(head.encode() + b"Content-Length: 99\r\n\r\nabc")
            time.sleep(0.2)
            client.close()
        assert answers(port) == 200
    assert capfd.readouterr().err == ""


def test_a_kind_of_message_is_logged_once_a_minute(
    home: Path, connect: Connect, capfd: pytest.CaptureFixture[str]
) -> None:
    with running() as port:
        for _ in range(50):
            client = connect(port)
            client.sendall(b"\x00\x01 nonsense\r\n\r\n")
            assert is_closed(client, 5)
    assert capfd.readouterr().err.count("Invalid HTTP request") <= 1


def resident(pid: int) -> int:
    (line,) = re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(line) * 1024


@pytest.fixture
def files() -> Iterator[None]:
    """Enough descriptors for this process to hold as many connections as the server."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_half_open_requests_lock_nobody_out(
    served: str, files: None, served_pid: Callable[[], int], connect: Connect
) -> None:
    port = urlsplit(served).port or 0
    assert answers(port) == 200
    before = resident(served_pid())
    for _ in range(HALF_OPEN):
        connect(port).sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
    began = time.monotonic()
    assert {answers(port, path) for path in ("/", "/gpus", "/static/web.css")} == {200}
    assert time.monotonic() - began < 10
    assert resident(served_pid()) - before < 100 * 2**20


def test_damaged_forms_fill_no_log(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    for damage in (b"\x90", b"\r", b"name"):
        body = b"--x\r\nContent-Disposition: form-data" + damage + b"\r\n\r\nx\r\n--x--\r\n"
        assert client.post("/upload", content=body, headers={"content-type": FORM}).status_code == 400
    assert caplog.records == []
