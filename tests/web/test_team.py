"""A team's server end to end: pushed, kept, compared; refused without a token, on a full disk, by physics."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from starlette.testclient import TestClient

from gpuwise import store
from gpuwise.errors import InputError, MachineError, NoDataError
from gpuwise.jobs.facts import Facts
from gpuwise.model.result import Result
from gpuwise.web import exchange
from gpuwise.web.send import post
from gpuwise.web.server import create
from gpuwise.web.tables import TABLES
from gpuwise.web.team import Team

from ..cli.test_schemas import check
from .conftest import COLD, H200, HOST, slowed
from .postgresql import Cluster, cluster, there_is_one

OLD = Path(__file__).parents[1] / "store" / "golden" / "result-1.json"
Push = Callable[..., tuple[int, dict[str, Any]]]
BEFORE, AFTER = (store.load(H200 / f"repeat-{n}.json") for n in (1, 2))


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    made = Team(f"sqlite:///{tmp_path / 'team.db'}")
    yield made
    made.close()


@pytest.fixture
def tokens(team: Team) -> dict[str, str]:
    return {"ann": team.add_user("ann", "push"), "bob": team.add_user("bob", "read")}


@pytest.fixture
def client(team: Team, home: Path) -> Iterator[TestClient]:
    with TestClient(create(Facts(), team=team), base_url=HOST) as client:
        yield client


@pytest.fixture
def push(client: TestClient, tokens: dict[str, str]) -> Push:
    """`push(result)` -> (status, answer)."""

    def send(what: Result | bytes, *, by: str = "ann", project: str = "lab") -> tuple[int, dict[str, Any]]:
        data = what if isinstance(what, bytes) else store.encode(what)
        bearer = {"Authorization": f"Bearer {tokens.get(by, by)}"}
        answer = client.post(f"/push?project={project}", content=data, headers=bearer)
        is_json = answer.headers["content-type"] == "application/json"
        return answer.status_code, answer.json() if is_json else {"error": answer.text}

    return send


def slower(result: Result, factor: float) -> Result:
    """The result as a later session would have it where every step takes `factor` times as long."""
    return replace(slowed(result, factor), id=f"{result.id}-later", created_at="2026-11-22T00:00:00+00:00")


def test_what_is_pushed_is_kept_compared_and_shown(
    push: Push, client: TestClient, tokens: dict[str, str], team: Team
) -> None:
    code, first = push(BEFORE)
    assert (code, first["new"], first["problem"], first["slower"]) == (201, True, "", [])
    assert {row["verdict"] for row in first["speeds"]} == {None}
    assert push(BEFORE)[0] == 200  # the same again changes nothing
    code, later = push(slower(BEFORE, 2.0))
    assert code == 201
    assert len(later["slower"]) == len(BEFORE.measurements)
    bearer = {"Authorization": f"Bearer {tokens['bob']}"}
    (row,) = client.get("/team.json", headers=bearer).json()
    assert (row["name"], row["results"], row["apart"], row["slower"]) == (
        "lab",
        2,
        0,
        len(BEFORE.measurements),
    )
    speeds = client.get("/team/lab.json", headers=bearer).json()["speeds"]
    assert {row["verdict"] for row in speeds} == {"slower"}
    history = client.get(f"/team/lab/{speeds[0]['series']}.json", headers=bearer).json()
    assert [row["before"] for row in history] == [BEFORE.id, None]
    assert history[0]["ratio"] == pytest.approx(0.5, rel=0.01)
    for path in ("/team", "/team/lab", f"/team/lab/{speeds[0]['series']}", f"/results/files/{BEFORE.id}"):
        page = client.get(path, headers=bearer)
        assert page.status_code == 200
        assert "/team" in page.text
    assert client.get("/team/nosuch", headers=bearer).status_code == 404
    # Another server on the same database knows them, too.
    assert {result.id for result in team.shown()} == {BEFORE.id, f"{BEFORE.id}-later"}


def test_a_token_opens_what_its_role_allows(
    push: Push, client: TestClient, team: Team,
    tokens: dict[str, str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    assert push(BEFORE, by="wrong")[0] == 401
    assert push(BEFORE, by="bob")[0] == 403
    assert client.get("/team").status_code == 401
    assert client.get("/").status_code == 401
    monkeypatch.setattr("gpuwise.web.team.REMEMBERED_S", 0.0)
    team.revoke("ann")
    assert push(BEFORE)[0] == 401
    with pytest.raises(NoDataError):
        team.revoke("ann")
    with pytest.raises(InputError):
        team.add_user("bob", "push")
    # Nothing in the file opens the server.
    with team.engine.connect() as to:
        kept = to.execute(sql.text("select token from users")).scalars().all()
    assert not {*kept} & {*tokens.values()}
    assert not team.projects()


def test_what_contradicts_itself_is_kept_apart(push: Push, team: Team) -> None:
    document = json.loads(store.encode(BEFORE))
    for m in document["measurements"]:
        for end in ("value", "low", "high"):
            m["throughput"][end] *= 1.5
    code, answer = push(json.dumps(document).encode())
    assert code == 201
    assert answer["problem"]
    assert answer["speeds"] == []
    assert [row["apart"] for row in team.projects()] == [1]
    assert team.shown() == ()
    assert list(team.cards()) == []


def test_files_that_are_none_are_refused_and_old_ones_taken(push: Push, team: Team) -> None:
    for data in (b"", b"no result", b"[" * 100_000, b'{"schema": 99}'):
        assert push(data)[0] == 400
    assert push(BEFORE, project="../x")[0] == 400
    assert json.loads(OLD.read_bytes()).get("schema") == 1
    assert push(OLD.read_bytes())[0] == 201
    assert push(AFTER)[0] == 201
    taken = replace(AFTER, command="another")
    assert push(taken)[0] == 409
    assert push(b" " * (9 * 2**20))[0] == 413
    assert sum(row["results"] for row in team.projects()) == 2


def test_two_writers_lose_nothing_and_double_nothing(team: Team, tmp_path: Path) -> None:
    other = Team(str(tmp_path / "team.db"))  # a path is of SQLite
    results = [replace(BEFORE, id=f"r{n}", created_at=f"2026-11-21T00:00:{n:02}+00:00") for n in range(24)]
    with ThreadPoolExecutor(8) as pool:
        # Each is sent through both, as two servers on one database would.
        work = [(into, result) for result in results for into in (team, other)]
        pushed = list(pool.map(lambda one: one[0].push(one[1], by="ann", project="lab"), work))
    assert sum(one.new for one in pushed) == len(results)
    assert team.projects()[0]["results"] == len(results)
    assert all(len(team.history(row["series"])) == len(results) for row in team.latest("lab"))
    other.close()


def test_a_full_disk_refuses_and_loses_nothing(team: Team, push: Push) -> None:
    assert push(BEFORE)[0] == 201
    full = sql.event.listens_for(team.engine, "begin")(
        lambda connection: connection.exec_driver_sql("PRAGMA max_page_count = 1")
    )
    kept = [BEFORE.id]
    for n in range(100):  # until the pages that the file has are full
        code, answer = push(replace(AFTER, id=f"r{n}"))
        if code != 201:
            break
        kept.append(f"r{n}")
    assert code == 503
    assert "full" in str(answer["error"])
    sql.event.remove(team.engine, "begin", full)
    sql.event.listen(team.engine, "begin", lambda c: c.exec_driver_sql("PRAGMA max_page_count = 1000000"))
    assert {row["id"] for row in team.results("lab")} == {*kept}
    assert push(AFTER)[0] == 201


def test_what_is_acknowledged_survives_a_killed_server(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'team.db'}"
    command = [*COLD, "serve", "--db", url, "--port", "0"]
    environment = {**os.environ, "GPUWISE_HOME": str(tmp_path)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stderr is not None
        said = server.stderr.readline() + server.stderr.readline()
        found = re.search(r"once: (\S+)\n.*?(http://127\.0\.0\.1:\d+)", said)
        assert found is not None, said
        token, address = found.groups()
        place = address.removeprefix("http://")
        words = ["push", str(H200 / "repeat-1.json"), "--to", place, "--project", "lab", "--json"]
        words += ["--tag", "nightly,weekly", "--tag", "b"]
        pushed = subprocess.run(
            [sys.executable, "-m", "gpuwise", *words],
            env={**environment, "GPUWISE_TOKEN": token},
            check=False,
            stdout=subprocess.PIPE,
            text=True,
        )
        server.send_signal(signal.SIGKILL)
    assert pushed.returncode == 0
    check("push", pushed.stdout)
    again = Team(url)
    assert [row["id"] for row in again.results("lab")] == [BEFORE.id]
    assert [row["id"] for row in again.results("lab", tag="weekly")] == [BEFORE.id]
    assert [user.name for user in again.users()] == ["owner"]
    again.close()


@pytest.mark.parametrize("url", ["nonsense", "sqlite:////nonexistent/x.db", "mysql://x/y"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises((InputError, MachineError)):
        Team(url)


@pytest.mark.parametrize("name", ["lab.sqlite", "lab.sqlite3"])
def test_a_file_of_sqlite_by_its_suffixes(name: str, tmp_path: Path) -> None:
    Team(str(tmp_path / name)).close()
    assert (tmp_path / name).is_file()
    with pytest.raises(InputError, match=r"database result\.json: "):  # and no address that nobody gave
        Team("result.json")


@pytest.fixture(scope="module")
def postgresql() -> Iterator[Cluster]:
    """A PostgreSQL of our own, where there is one to start."""
    if not there_is_one():
        pytest.skip("no PostgreSQL on this machine")
    with cluster() as made:
        yield made


def test_postgresql_keeps_the_same(postgresql: Cluster, tmp_path: Path) -> None:
    team = Team(postgresql.url)
    token = team.add_user("ann", "push")
    user = team.user(token)
    assert user is not None
    assert user.role == "push"
    with ThreadPoolExecutor(4) as pool:
        pushed = list(
            pool.map(lambda r: team.push(r, by="ann", project="lab"), [BEFORE, BEFORE, AFTER, AFTER])
        )
    assert sum(one.new for one in pushed) == 2
    assert team.push(slower(AFTER, 2.0), by="ann", project="lab").document["slower"]
    assert team.projects()[0]["slower"] == len(AFTER.measurements)
    assert len(team.latest("lab")) == len(AFTER.measurements)
    assert len(team.shown()) == 3
    with team.engine.connect() as to:
        assert compare_metadata(MigrationContext.configure(to), TABLES) == []
    # Through a file of SQLite into another database, and back.
    assert exchange.backup(team, tmp_path / "backup") == 3
    lite = Team(f"sqlite:///{tmp_path / 'lite.db'}")
    assert exchange.restore(tmp_path / "backup", lite) == 3
    assert {*exchange.parquet(team, tmp_path / "parquet")} >= {"results.parquet", "speeds.parquet"}
    for each in (lite, team):
        assert each.push(slower(AFTER, 2.0), by="ann", project="lab").new is False
        assert each.push(replace(AFTER, id="next"), by="ann", project="lab").new is True
        assert each.log()[0]["what"] == "push"
    # However many came within one second, the newest is first.
    assert lite.results("lab")[0]["id"] == team.results("lab")[0]["id"] == "next"
    assert [r["id"] for r in lite.results("lab")] == [r["id"] for r in team.results("lab")]
    lite.close()
    team.close()


# A connection whose server is gone is dropped, not closed.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_is_acknowledged_survives_a_killed_database(postgresql: Cluster) -> None:
    team = Team(postgresql.url)
    kept, some = list[str](), threading.Semaphore(0)

    def send(sender: int) -> None:
        """Push one after the other until the database is gone."""
        for number in count():
            kept.append(team.push(replace(BEFORE, id=f"k{sender}-{number}"), by="ann", project="killed").id)
            some.release()

    with ThreadPoolExecutor(4) as pool:
        sent = [pool.submit(send, sender) for sender in range(4)]
        try:
            assert all(some.acquire(timeout=60) for _ in range(5))
        finally:
            postgresql.kill()
        for each in sent:
            with pytest.raises(MachineError):
                each.result()
    postgresql.start()
    found = {row["id"] for row in team.results("killed")}
    assert {*kept} <= found
    # One more than was answered may be there, of each connection; none is there by half.
    assert len(found) <= len(kept) + 4
    assert team.projects()[0]["results"] == len(found)
    assert all(len(team.history(row["series"])) == len(found) for row in team.latest("killed"))
    team.close()
    gc.collect()


def test_no_error_shows_what_follows_the_address_of_a_server() -> None:
    with pytest.raises(MachineError) as refused:
        post("http://127.0.0.1:9/hook?key=secret", b"{}", {}, within_s=2.0)
    assert str(refused.value) == "http://127.0.0.1:9/hook does not answer: Connection refused"
