"""Measure the team's server: pages and pushes over a million measurements, a crowd, kills, and a load.

    python tools/load.py                         # all of it on a PostgreSQL of its own: some 20 minutes
    python tools/load.py --rows 20000 --seconds 20
    python tools/load.py --skip fill,kills       # the load alone

fill   rows of measurements, of RESULTS_OF each, are put into the database as pushes would have left them
pages  every page, ten times each: the slowest; pushes one after the other: the median and the slowest
crowd  50 writers at once push 20 results each, five of them the same ones: none is lost, none is there twice
kills  the server, then the database, is killed while writers push: what was answered must be there
load   for --seconds 50 readers, 10 writers and 100 clients that are slow or leave: errors of the honest ones,
       who come again where the server says when; a time is that until their answer, waits included

Exit 1 where a figure is above its limit: pages 300 ms, pushes 200 ms, nothing lost, no error.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from statistics import median

import sqlalchemy as sql

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from gpuwise import store  # noqa: E402
from gpuwise.model.result import Result  # noqa: E402
from gpuwise.web.tables import RESULTS, SPEEDS  # noqa: E402
from gpuwise.web.team import Team  # noqa: E402
from tests.web.postgresql import Cluster, cluster  # noqa: E402

PAGE_S, PUSH_S = 0.300, 0.200
READERS, WRITERS, SLOW, CROWD = 50, 10, 100, 50
CARD = f"{4:016x}"
RESULTS_OF = 20  # Measurements of one result, as a suite has


def sample() -> Result:
    """A result of RESULTS_OF measurements of different questions, from one that was measured."""
    real = store.load(ROOT / "results" / "h200" / "repeat-1.json")
    last = real.measurements[-1]
    batches = [replace(last, config=replace(last.config, batch=2**n % 8191), batch=2**n % 8191)
               for n in range(RESULTS_OF)]  # fmt: skip
    return replace(real, measurements=tuple(batches))


def named(result: Result, number: int, name: str) -> Result:
    """The result as a later session, on one of the cards."""
    day, minute, second = 1 + number // 3600 % 28, number // 60 % 60, number % 60
    return replace(
        result, id=name, created_at=f"2026-11-{day:02}T00:{minute:02}:{second:02}+00:00",
        environment=replace(result.environment, card=f"{number % 64:016x}"),
    )  # fmt: skip


FILL = (
    """INSERT INTO results (id, project, pushed_by, pushed_at, measured_at, device, software, problem, data,
         owner, host, card, signature)
       SELECT 's' || n, r.project, r.pushed_by, t.at, t.at, r.device, r.software, '', r.data, r.owner,
         'box' || n % 8, lpad(to_hex(n % 64), 16, '0'), ''
       FROM generate_series(1, :sessions) n
       CROSS JOIN LATERAL (SELECT to_char(timestamp '2026-10-01' + n * interval '20 seconds',
         'YYYY-MM-DD"T"HH24:MI:SS"+00:00"') AS at) t
       JOIN results r ON r.id = 'first-' || (ARRAY['lab', 'nightly', 'rack', 'loan'])[1 + n % 4]""",
    """INSERT INTO speeds (result, place, series, label, device, software, measured_at, item, value, low,
         high, before, ratio, ratio_low, ratio_high, verdict, card, change)
       SELECT r.id, s.place, s.series, s.label, s.device, s.software, r.measured_at, s.item,
         s.value * (0.998 + 0.004 * random()), s.low, s.high, s.result, 1.0, 0.998, 1.002,
         CASE WHEN random() < 0.01 THEN 'slower' ELSE 'same' END, r.card, ''
       FROM results r JOIN speeds s ON s.result = 'first-' || r.project WHERE r.id LIKE 's%'""",
    "UPDATE projects SET results = results + :sessions / 4",
    """UPDATE newest SET measured_at = f.measured_at, result = f.result, place = f.place FROM (
         SELECT DISTINCT ON (series) series, measured_at, result, place FROM speeds
         ORDER BY series, measured_at DESC) f WHERE f.series = newest.series""",
    """INSERT INTO cards SELECT host, card, device, max(software), count(*), min(measured_at),
         max(measured_at) FROM results WHERE id LIKE 's%' GROUP BY host, card, device""",
)


def fill(team: Team, rows: int) -> None:
    """Rows of the tables as so many pushes leave them; the first result of each project is a real push."""
    for project in ("lab", "nightly", "rack", "loan"):
        first = replace(sample(), id=f"first-{project}", created_at="2026-09-30T00:00:00+00:00")
        team.push(first, by="owner", project=project)
    with team.writing() as to:
        for statement in FILL:
            to.execute(
                sql.text(statement), {"sessions": rows // RESULTS_OF} if ":sessions" in statement else {}
            )
    with team.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as to:
        to.execute(sql.text("VACUUM ANALYZE"))


class Server:
    """`gpuwise serve --db` in a process of its own."""

    def __init__(self, url: str, home: str) -> None:
        self._url, self._home = url, home
        self.token = ""
        self.start()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        command = [sys.executable, "-m", "gpuwise", "serve", "--db", self._url, "--port", "0"]
        environment = {**os.environ, "GPUWISE_HOME": self._home, "PYTHONPATH": str(ROOT / "src")}
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if once := re.search(r"once: (\S+)", line):
                self.token = once[1]
            if found := re.search(r"http://(127\.0\.0\.1:\d+)", line):
                self.place = found[1]
                break
        else:
            raise SystemExit("the server does not start")
        # Its log stays short, and must be read.
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def ask(self, method: str, path: str, token: str, data: bytes = b"") -> tuple[int, bytes, float]:
        """(status, body, seconds) over a connection of its own."""
        began = time.perf_counter()
        connection = http.client.HTTPConnection(self.place, timeout=120)
        try:
            connection.request(method, path, data or None, {"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            return answer.status, answer.read(), time.perf_counter() - began
        finally:
            connection.close()

    def push(self, result: Result, token: str, project: str = "lab") -> tuple[int, bytes, float]:
        """Push one."""
        return self.ask("POST", f"/push?project={project}", token, store.compact(result))


def pages(server: Server, team: Team) -> list[str]:
    """The slowest of each page, and of pushes; what is above its limit."""
    series = team.latest("lab")[0]["series"]
    newest = team.results("lab")[0]["id"]
    addresses = (
        "/", "/results", "/gpus", "/predict/bert-large", "/team", "/team/lab", f"/team/lab/{series}",
        "/team/lab?host=box4", f"/team/lab?card={CARD}", "/team/lab?tag=x", "/cards", "/cards?host=box4",
        f"/cards/{CARD}", "/alerts", "/members", f"/results/files/{newest}", "/team/lab.json",
        "/team/lab.csv",
    )  # fmt: skip
    above = []
    for path in addresses:
        server.ask("GET", path, server.token)
        each = [server.ask("GET", path, server.token) for _ in range(10)]
        took = sorted(seconds for _, _, seconds in each)
        print(f"{path}: median {median(took) * 1e3:.0f} ms, slowest {took[-1] * 1e3:.0f} ms, "
              f"{len(each[0][1]) / 1e3:.0f} kB", flush=True)  # fmt: skip
        if {status for status, *_ in each} - {200, 404}:
            above.append(f"{path} answers {each[0][0]}")
        if median(took) > PAGE_S:
            above.append(f"{path} takes {median(took) * 1e3:.0f} ms")
    result = sample()
    pushed = [server.push(named(result, 1000 + n, f"push{n}"), server.token) for n in range(30)]
    took = sorted(seconds for _, _, seconds in pushed)
    print(
        f"push of {RESULTS_OF} measurements: median {median(took) * 1e3:.0f} ms, "
        f"slowest {took[-1] * 1e3:.0f} ms"
    )
    single = replace(result, measurements=result.measurements[:1])
    took = sorted(server.push(named(single, 1000 + n, f"one{n}"), server.token)[2] for n in range(30))
    print(
        f"push of 1 measurement: median {median(took) * 1e3:.0f} ms, slowest {took[-1] * 1e3:.0f} ms",
        flush=True,
    )
    if median(took) > PUSH_S:
        above.append(f"a push takes {median(took) * 1e3:.0f} ms")
    return above


def crowd(server: Server, team: Team, tokens: list[str]) -> list[str]:
    """Writers at once: what they were answered against what is there."""
    one = replace(sample(), measurements=sample().measurements[:2])

    def writes(writer: int) -> Counter[int]:
        names = [f"w{writer}-{n}" if n % 4 else f"same-{n}" for n in range(20)]
        return Counter(server.push(named(one, 1, name), tokens[writer], "crowd")[0] for name in names)

    began = time.monotonic()
    with ThreadPoolExecutor(CROWD) as pool:
        answers = sum(pool.map(writes, range(CROWD)), Counter())
    found = [row["id"] for row in team._read(sql.select(RESULTS.c.id).where(RESULTS.c.project == "crowd"))]
    wanted = CROWD * 15 + 5
    speeds = sum(len(team._read(sql.select(SPEEDS.c.place).where(SPEEDS.c.result == name))) for name in found)
    print(
        f"{CROWD} writers: {sum(answers.values())} pushes in {time.monotonic() - began:.1f} s, "
        f"{dict(answers)}; {len(found)} results of {wanted}, {speeds} speeds of {2 * wanted}",
        flush=True,
    )
    good = (
        len(found) == len({*found}) == wanted == answers[201]
        and speeds == 2 * wanted
        and {*answers} == {200, 201}
    )
    return [] if good else ["the crowd lost or doubled a result, or was refused"]


def kills(server: Server, database: Cluster, team: Team, tokens: list[str]) -> list[str]:
    """What was answered with 200 or 201 must be there after the server, then the database, was killed."""
    one = replace(sample(), measurements=sample().measurements[:2])
    lost = []
    for what, end, again in (
        ("server", lambda: os.kill(server.process.pid, signal.SIGKILL), server.start),
        ("database", database.kill, database.start),
    ):
        kept: list[str] = []
        stop = threading.Event()

        def writes(
            writer: int, kept: list[str] = kept, stop: threading.Event = stop, what: str = what
        ) -> None:
            number = 0
            while not stop.is_set():
                name, number = f"{what}-{writer}-{number}", number + 1
                with suppress(OSError, http.client.HTTPException):
                    if server.push(named(one, 2, name), tokens[writer], "kills")[0] in (200, 201):
                        kept.append(name)

        with ThreadPoolExecutor(10) as pool:
            for writer in range(10):
                pool.submit(writes, writer)
            time.sleep(5)
            end()
            time.sleep(0.5)
            stop.set()
        again()
        there = {
            row["id"] for row in team._read(sql.select(RESULTS.c.id).where(RESULTS.c.project == "kills"))
        }
        missing = {*kept} - there
        status = server.ask("GET", "/team/kills", server.token or tokens[0])[0]
        print(
            f"{what} killed: {len(kept)} pushes were answered, {len(missing)} of them lost; then {status}",
            flush=True,
        )
        if missing or not kept or status != 200:
            lost.append(f"the killed {what} lost {len(missing)} of {len(kept)}")
    return lost


def load(server: Server, tokens: list[str], seconds: float) -> list[str]:
    """Readers, writers and slow clients side by side; every answer of an honest one that is none."""
    until = time.monotonic() + seconds
    paths = ("/", "/gpus", "/gpus/rtx-4090", "/compare/rtx-4090,l40s", "/results", "/predict/bert-large",
             "/choose/llm-inference", "/team", "/cards", "/alerts", "/team/lab")  # fmt: skip
    one = replace(sample(), measurements=sample().measurements[:2])
    seen: Counter[str] = Counter()
    took: dict[str, list[float]] = {"reader": [], "writer": []}
    lock, numbers = threading.Lock(), itertools.count()

    def honest(
        kind: str, number: int, ask: Callable[[int], tuple[int, bytes, float]], pause_s: float
    ) -> None:
        step = 0
        began = time.perf_counter()
        while time.monotonic() < until:
            wait_s = 0.0
            try:
                status, body, _ = ask(step)
                said = "fine" if status in (200, 201) else f"{kind} {status}"
                if status == 503 and (asked := re.search(rb"come again in (\d+) s", body)):
                    said, wait_s = "asked to wait", float(asked[1])
            except (OSError, http.client.HTTPException) as error:
                said = f"{kind} {type(error).__name__} {error}"
            with lock:
                seen[said] += 1
                if said == "fine":
                    took[kind].append(time.perf_counter() - began)
            time.sleep(wait_s or pause_s)
            if not wait_s:
                step, began = step + 1, time.perf_counter()

    def slow(number: int) -> None:
        """Half a header, a trickling body, an answer that is not read, or one that is not waited for."""
        host, port = server.place.split(":")
        while time.monotonic() < until:
            with suppress(OSError), socket.create_connection((host, int(port)), timeout=5) as client:
                match number % 4:
                    case 0:
                        client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
                        while time.monotonic() < until:
                            time.sleep(1)
                            client.sendall(b"x")
                    case 1:
                        client.sendall(
                            f"POST /upload HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                            f"Authorization: Bearer {tokens[0]}\r\n"
                            "Content-Type: multipart/form-data; boundary=x\r\n"
                            "Content-Length: 90000\r\n\r\n".encode()
                        )
                        while time.monotonic() < until:
                            time.sleep(1)
                            client.sendall(b"a")
                    case 2:  # a page that nobody else asks for, which takes half a second
                        page = (
                            f"/choose?ask=LoRA+of+an+8B+model+with+{1000 + next(numbers)}+tokens+of+context"
                        )
                        client.sendall(f"GET {page} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                       f"Authorization: Bearer {tokens[2]}\r\n\r\n".encode())  # fmt: skip
                        time.sleep(0.2)
                        client.close()
                        time.sleep(2)
                    case _:
                        for _ in range(3):
                            client.sendall(f"GET /gpus.json HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                           f"Authorization: Bearer {tokens[1]}\r\n\r\n".encode())  # fmt: skip
                        while time.monotonic() < until:
                            time.sleep(1)
                            client.sendall(b"GET")

    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(READERS + WRITERS + SLOW))
        for n in range(SLOW):
            pool.submit(slow, n)
        for n in range(READERS):
            pool.submit(honest, "reader", n, lambda step, n=n: server.ask(
                "GET", paths[(n + step) % len(paths)], tokens[n]), 1.0)  # fmt: skip
        for n in range(WRITERS):
            pool.submit(honest, "writer", n, lambda step, n=n: server.push(
                named(one, 3, f"load{n}-{step}"), tokens[n], "load"), 1.0)  # fmt: skip
    for kind, each in took.items():
        each.sort()
        print(
            f"{kind}s: {len(each)} answers, median {median(each):.2f} s, "
            f"99 % {each[int(0.99 * len(each))]:.2f} s, slowest {each[-1]:.2f} s"
        )
    print(
        f"{seconds:.0f} s of {READERS} readers, {WRITERS} writers, {SLOW} slow clients: {dict(seen)}",
        flush=True,
    )
    wrong = sum(count for said, count in seen.items() if said not in ("fine", "asked to wait"))
    return [f"{wrong} errors of honest clients"] if wrong else []


def main() -> int:
    """Run the parts; print what is above its limit."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--seconds", type=float, default=600)
    options.add_argument("--skip", default="", help="parts, by comma")
    given = options.parse_args()
    skipped, above = given.skip.split(","), []
    with cluster() as database, tempfile.TemporaryDirectory() as home:
        team = Team(database.url)
        owner = team.add_user("owner", "admin")
        tokens = [team.add_user(f"w{number}", "push") for number in range(CROWD)]
        began = time.monotonic()
        fill(team, RESULTS_OF * 4 if "fill" in skipped else given.rows)
        print(f"filled in {time.monotonic() - began:.0f} s", flush=True)
        server = Server(database.url, home)
        server.token = owner
        try:
            if "pages" not in skipped:
                above += pages(server, team)
            if "crowd" not in skipped:
                above += crowd(server, team, tokens)
            if "kills" not in skipped:
                above += kills(server, database, team, tokens)
            if "load" not in skipped:
                above += load(server, tokens, given.seconds)
        finally:
            server.process.kill()
            server.process.wait()
            team.close()
    for line in above:
        print(f"ABOVE: {line}")
    return int(bool(above))


if __name__ == "__main__":
    sys.exit(main())
