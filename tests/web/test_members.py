"""What members of a team may do, by program and by page: roles, tags, cards, alerts, signatures, files."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
import sqlalchemy as sql
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from starlette.testclient import TestClient

from gpuwise import store
from gpuwise.cli.main import run
from gpuwise.errors import InputError
from gpuwise.jobs.facts import Facts
from gpuwise.model.result import Result
from gpuwise.store import signing
from gpuwise.web import guard
from gpuwise.web import team as teams
from gpuwise.web.server import create
from gpuwise.web.tables import TABLES
from gpuwise.web.team import Courier, Team, alert

from .conftest import H200, HOST, slowed

FIRST = store.load(H200 / "repeat-1.json")
# Its measurements less the matrix product, whose few windows differ too much for a verdict of one run.
SURE = len(FIRST.measurements) - 1


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    made = Team(f"sqlite:///{tmp_path / 'team.db'}", webhook=True)
    yield made
    made.close()


@pytest.fixture
def tokens(team: Team) -> dict[str, str]:
    return {name: team.add_user(name, role) for name, role in
            (("eve", "read"), ("ann", "push"), ("bob", "push"), ("root", "admin"))}  # fmt: skip


Open = Callable[[str], TestClient]


@pytest.fixture
def opened(team: Team, home: Path, tokens: dict[str, str]) -> Open:
    """The browser of somebody."""
    app = create(Facts(), team=team)

    def open_(name: str) -> TestClient:
        return TestClient(app, base_url=HOST, cookies={guard.COOKIE: tokens[name]}, follow_redirects=False)

    return open_


def session(
    number: int, *, factor: float = 1.0, card: str = "", driver: str = "580.1", day: int = 1
) -> Result:
    """A result like the first, on another card, day and driver, its steps `factor` times as long."""
    return replace(
        slowed(FIRST, factor), id=f"r{number}", created_at=f"2026-11-{day:02}T00:00:{number:02}+00:00",
        environment=replace(FIRST.environment, card=card or None, driver=driver),
    )  # fmt: skip


def secret_of(page: str) -> str:
    found = re.search(r'name="secret" value="([0-9a-f]{64})"', page)
    assert found is not None
    return found[1]


def test_each_role_may_what_the_one_before_may_and_more(opened: Open, team: Team) -> None:
    data = {"file": ("r.json", store.encode(FIRST))}
    for name, may_push, may_rule in (("eve", False, False), ("ann", True, False), ("root", True, True)):
        browser = opened(name)
        page = browser.get("/team")
        assert page.status_code == 200
        assert ("secret" in page.text) == may_push
        assert browser.get("/members").status_code == (200 if may_rule else 403)
        fields = {"project": "lab", "tags": "nightly a", "secret": secret_of(page.text) if may_push else ""}
        code = browser.post("/team", data=fields, files=data).status_code
        assert code == (303 if may_push else 403)
    (row,) = team.results("lab")
    assert (row["owner"], row["tags"]) == ("ann", ["a", "nightly"])


def test_a_form_of_another_page_changes_nothing(opened: Open, team: Team, tokens: dict[str, str]) -> None:
    team.push(FIRST, by="ann", project="lab")
    browser = opened("root")
    mine, others = secret_of(browser.get("/members").text), secret_of(opened("ann").get("/team").text)
    fields = {"name": "mallory", "role": "admin", "do": "add"}
    for secret in ("", others, tokens["root"]):
        assert browser.post("/members", data={**fields, "secret": secret}).status_code == 403
        assert browser.post("/team/lab", data={"result": FIRST.id, "secret": secret}).status_code == 403
        assert browser.post("/team", data={"secret": secret}).status_code == 403
    assert (
        browser.post(
            "/members", data={**fields, "secret": mine}, headers={"Origin": "http://evil.example"}
        ).status_code
        == 403
    )
    assert {user.name for user in team.users()} == {*tokens}


def test_an_admin_makes_and_revokes_tokens_by_page(opened: Open, team: Team) -> None:
    browser = opened("root")
    secret = secret_of(browser.get("/members").text)
    page = browser.post("/members", data={"name": "joe", "role": "push", "secret": secret, "do": "add"})
    found = re.search(r"<code>([\w-]{32})</code>", page.text)
    assert found is not None
    team._looked = -10.0
    user = team.user(found[1])
    assert user is not None
    assert (user.name, user.role) == ("joe", "push")
    assert browser.post("/members", data={"name": "joe", "secret": secret, "do": "revoke"}).status_code == 303
    assert "joe" not in {user.name for user in team.users()}
    assert browser.post("/members", data={"name": "x", "role": "king", "secret": secret}).status_code == 400
    done = [(row["who"], row["what"]) for row in team.log()]
    assert done[:2] == [("root", "token revoked"), ("root", "token made")]


def test_tags_are_of_the_owner_or_an_admin(opened: Open, team: Team) -> None:
    team.push(FIRST, by="ann", project="lab", tags=["old"], host="box")
    for name, code, tags in (("bob", 403, ["old"]), ("ann", 303, ["x"]), ("root", 303, ["x"])):
        browser = opened(name)
        fields = {"result": FIRST.id, "tags": "x", "secret": secret_of(browser.get("/team").text)}
        assert browser.post("/team/lab", data=fields).status_code == code
        assert team.results("lab")[0]["tags"] == tags
    for wanted, found in (("tag=x", 1), ("owner=ann", 1), ("host=box", 1), ("tag=old", 0), ("owner=bob", 0)):
        assert opened("eve").get(f"/team/lab?{wanted}").status_code == (200 if found else 404)
    with pytest.raises(InputError):
        team.push(session(2), by="ann", project="lab", tags=["a b"])


def test_too_many_requests_of_one_token_wait(
    opened: Open, tokens: dict[str, str], monkeypatch: pytest.MonkeyPatch, team: Team
) -> None:
    monkeypatch.setattr(guard, "REQUESTS", (0.5, 3))
    monkeypatch.setattr(guard, "WRONG", (0.5, 2))
    app = TestClient(create(Facts(), team=team), base_url=HOST)

    def codes(token: str, times: int) -> list[int]:
        bearer = {"Authorization": f"Bearer {token}"}
        return [app.get("/static/live.js", headers=bearer).status_code for _ in range(times)]

    assert codes(tokens["ann"], 4) == [200, 200, 200, 429]
    assert codes(tokens["bob"], 1) == [200]  # another one's
    assert codes("wrong", 3) == [401, 401, 429]
    assert codes(tokens["eve"], 1) == [200]  # who knows a token is not locked out with those who do not
    late = app.get("/", headers={"Authorization": f"Bearer {tokens['ann']}"})
    assert late.headers["retry-after"] == "2"


def test_a_rate_recovers(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(guard.time, "monotonic", lambda: now[0])
    rate = guard.Rate(2.0, 2)

    def waits() -> int:
        try:
            rate.count("a")
        except guard.Refused as refused:
            return refused.wait_s
        return 0

    assert [waits() for _ in range(3)] == [0, 0, 1]
    now[0] += 0.49
    assert waits() > 0
    now[0] += 0.02
    assert [waits(), waits() > 0] == [0, True]
    now[0] += 1000
    assert [waits() for _ in range(3)] == [0, 0, 1]


def test_cards_are_compared_each_with_itself(team: Team, opened: Open) -> None:
    # The second card is 10 % slower than the first, which is no news.
    for day in (1, 2):
        team.push(session(day, card="a" * 16, day=day), by="ann", project="lab", host="box")
        pushed = team.push(
            session(10 + day, card="b" * 16, factor=1.1, day=day), by="ann", project="lab", host="box"
        )
    assert {row["ratio"] for row in pushed.speeds} == {1.0}
    assert {row["change"] for row in pushed.speeds} == {""}
    assert not team.alerts()
    rows = {row["card"][0]: row for row in team.cards()}
    assert {*rows} == {"a", "b"}
    assert (rows["a"]["host"], rows["a"]["results"], rows["a"]["first"][:10], rows["a"]["last"][:10]) == (
        "box", 2, "2026-11-01", "2026-11-02",
    )  # fmt: skip
    assert len(team.of_card("b" * 16)) == 2 * len(FIRST.measurements)
    assert team.cards("elsewhere") == []
    browser = opened("eve")
    for path in ("/cards", "/cards?host=box", f"/cards/{'a' * 16}", "/alerts"):
        assert browser.get(path).status_code == 200
    assert len(browser.get("/cards.json").json()) == 2
    assert browser.get("/cards/unknown").status_code == 404


def test_a_loss_after_a_driver_is_an_alert_on_so_many_cards(team: Team, opened: Open) -> None:
    for card in range(8):
        team.push(session(card, card=f"{card}" * 16), by="ann", project="lab")
    told = []
    for card in range(8):
        factor = 1.0 if card == 5 else 1.042 + card / 10_000
        new = session(20 + card, card=f"{card}" * 16, driver="585.2", factor=factor, day=2)
        told += team.push(new, by="ann", project="lab").alerts
    rows = {row["label"]: row for row in team.alerts()}
    assert len(rows) == len(FIRST.measurements)
    row = rows[FIRST.measurements[-1].question.label()]
    assert (row["cards"], row["slower"], row["change"]) == (8, 7, "driver 580.1 -> 585.2")
    assert row["ratio"] == pytest.approx(0.963, abs=0.003)
    assert row["ratio_low"] < row["ratio"] < row["ratio_high"] < 1
    (words, *_) = [each["text"] for each in opened("eve").get("/alerts.json").json() if each["slower"] == 7]
    assert re.match(r"driver 580\.1 -> 585\.2: .* -3\.\d % on 7 of 8 cards", words)
    # On the page the question leads to its history, which is drawn, a line a card.
    page = opened("eve").get("/alerts").text
    assert "7 of 8 cards" in page
    history = f"/team/lab/{row['series']}"
    assert f'<a class="given" href=".{history}">{row["label"]}</a>' in page.replace("\u00a0", " ")
    assert "over the first" in opened("eve").get(history).text
    # The webhook hears of each change, first that it is new.
    with team.engine.connect() as to:
        sent = [json.loads(body) for (body,) in to.execute(sql.text("select body from outbox order by id"))]
    assert len(sent) == len(told)
    assert [each["new"] for each in sent if each["label"] == row["label"]][:2] == [True, False]


def test_what_makes_an_alert() -> None:
    def row(card: str, ratio: float, verdict: str = "unclear", wide: float = 0.001) -> dict[str, Any]:
        ends = {"ratio_low": ratio - wide, "ratio_high": ratio + wide}
        return {"card": card, "ratio": ratio, "verdict": verdict, **ends}

    assert alert([row("a", 0.9)]) is None  # one run that nobody is sure of
    assert alert([row("a", 0.9, "slower")]) is not None
    assert alert([row("a", 0.958), row("b", 0.957)]) is None  # two are not several
    several = alert([row("a", 0.958), row("b", 0.957), row("c", 0.959)])
    assert several is not None
    assert (several["cards"], several["slower"]) == (3, 3)
    assert (
        alert([row("a", 0.983), row("b", 0.983), row("c", 0.9831)]) is None
    )  # less than equal runs differ by
    assert alert([row("a", 0.958), row("b", 1.02), row("c", 0.98)]) is None  # they disagree
    # The newest of each card counts, which comes first.
    again = alert([row("a", 1.0), row("a", 0.9, "slower")])
    assert again is None


def test_an_alert_is_withdrawn_where_a_later_result_denies_it(team: Team) -> None:
    team.push(session(1, card="a"), by="ann", project="lab")
    team.push(session(2, card="a", driver="585.2", factor=1.3, day=2), by="ann", project="lab")
    assert len(team.alerts()) == SURE
    # What was measured between, pushed late, is the newest neither of the card nor of the change.
    team.push(session(3, card="a", day=3), by="ann", project="lab")
    team.push(session(4, card="a", driver="585.2", day=4), by="ann", project="lab")
    assert team.alerts() == []


class Receiver(BaseHTTPRequestHandler):
    """Takes every second alert."""

    came: list[dict[str, Any]] = []  # noqa: RUF012
    refuses = True

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Receiver.refuses = not Receiver.refuses
        if not Receiver.refuses:
            Receiver.came.append(body)
        self.send_response(503 if Receiver.refuses else 204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_a_webhook_gets_every_alert_once_it_answers(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teams, "EVERY_S", 0.01)
    team.push(session(1), by="ann", project="lab")
    team.push(session(2, factor=1.5, day=2), by="ann", project="lab")
    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        sender = Courier(team, f"http://127.0.0.1:{server.server_port}/hook")
        try:
            for _ in range(500):
                with team.engine.connect() as to:
                    if not to.execute(sql.text("select count(*) from outbox")).scalar():
                        break
                threading.Event().wait(0.02)
        finally:
            sender.end()
            server.shutdown()
            thread.join()
    assert len({each["label"] for each in Receiver.came}) == len(Receiver.came) == len(team.alerts()) > 1
    assert all("% on 1 of 1 card" in each["text"] for each in Receiver.came)


class Stranger(BaseHTTPRequestHandler):
    """No server of gpuwise."""

    answer: tuple[int, dict[str, str], bytes] = 200, {}, b""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        status, headers, body = self.answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ((200, {}, b"[" * 100_000), 3),
        ((201, {}, b'{"id": 5, "speeds": 7}'), 3),
        ((200, {}, b'{"speeds": []}'), 3),
        ((429, {"Retry-After": "\xb2"}, b""), 2),
        ((500, {"Content-Length": "9"}, b"x"), 3),
        ((400, {}, b'{"error": {"a": 1}, "hint": [2]}'), 2),
        ((401, {}, b'{"error": "open the address", "hint": ""}'), 2),
        ((405, {}, b"<!doctype html><p>no</p>"), 2),
    ],
)
def test_a_push_to_no_server_of_gpuwise_says_so(
    answer: tuple[int, dict[str, str], bytes],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(Stranger, "answer", answer)
    with HTTPServer(("127.0.0.1", 0), Stranger) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        to = f"http://127.0.0.1:{server.server_port}"
        try:
            with pytest.raises(SystemExit) as ended:
                run(["push", str(H200 / "repeat-1.json"), "--to", to, "--token", "x"])
        finally:
            server.shutdown()
            thread.join()
    assert ended.value.code == code
    err = capsys.readouterr().err
    assert ("GPUWISE_TOKEN" in err) == (answer[0] == 401)
    assert ("<p>" in err, f"--to {to}" in err) == (False, answer[0] == 405)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


def test_a_signature_says_whose_a_result_is(team: Team, opened: Open, key: Path, tmp_path: Path) -> None:
    public = Path(f"{key}.pub").read_text()
    team.add_user("carl", "read", public_key=public)
    data = store.encode(FIRST)  # as the file stands on the disk
    signature = signing.sign(data, key)
    pushed = team.push(FIRST, by="ann", project="lab", signed=(data, signature))
    assert (pushed.owner, pushed.new) == ("carl", True)
    browser = opened("eve")
    assert browser.get(f"/files/{FIRST.id}.json").content == data
    assert browser.get(f"/files/{FIRST.id}.sig").text == signature
    # Anybody can check it, without gpuwise.
    (tmp_path / "signers").write_text(f"carl {public}")
    (tmp_path / "r.sig").write_text(browser.get(f"/files/{FIRST.id}.sig").text)
    words = ["-Y", "verify", "-f", "signers", "-I", "carl", "-n", "gpuwise", "-s", "r.sig"]
    assert subprocess.run(["ssh-keygen", *words], input=data, cwd=tmp_path, check=False).returncode == 0
    # The same without a signature is the same result.
    assert team.push(FIRST, by="bob", project="lab").owner == "carl"
    other = replace(FIRST, id="other")
    for refused in ((store.encode(other), signature), (data, "nonsense"), (data, "x" * 9000)):
        with pytest.raises(InputError):
            team.push(other, by="ann", project="lab", signed=refused)
    team.revoke("carl")
    with pytest.raises(InputError):
        team.push(
            other,
            by="ann",
            project="lab",
            signed=(store.encode(other), signing.sign(store.encode(other), key)),
        )
    assert [row["id"] for row in team.results("lab")] == [FIRST.id]


@pytest.mark.parametrize("text", ["", "ssh-ed25519", "x y", "ssh-ed25519 AAAA\nssh-ed25519 BBBB", "a" * 9000])
def test_what_is_no_public_key(text: str) -> None:
    with pytest.raises(InputError):
        signing.public_key(text)


def test_sign_and_verify_on_the_command_line(
    key: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, signers = tmp_path / "r.json", tmp_path / "signers"
    file.write_bytes(store.encode(FIRST))
    signers.write_text("# people\nann " + Path(f"{key}.pub").read_text())
    assert code("team", "sign", file, "--key", key) == 0
    assert code("team", "verify", file, "--signers", signers) == 0
    assert capsys.readouterr().out.strip().endswith(": ann")
    file.write_bytes(store.encode(replace(FIRST, command="another")))
    assert code("team", "verify", file, "--signers", signers) == 1
    signers.write_text("")
    assert code("team", "verify", file, "--signers", signers) == 1
    assert code("team", "sign", signers, "--key", key) == 2


def code(*words: object) -> int:
    try:
        run([str(word) for word in words])
    except SystemExit as leave:
        return int(leave.code or 0)
    return 0


def test_backup_restore_and_parquet_on_the_command_line(
    team: Team, tmp_path: Path, tokens: dict[str, str]
) -> None:
    team.push(FIRST, by="ann", project="lab", tags=["x"])
    team.push(session(2, factor=1.5, day=22), by="bob", project="lab", host="box")
    here, there = f"sqlite:///{tmp_path / 'team.db'}", f"sqlite:///{tmp_path / 'new.db'}"
    backup, folder = tmp_path / "backup", tmp_path / "parquet"
    assert code("team", "backup", backup, "--db", here) == 0
    assert code("team", "backup", backup, "--db", here) == 2  # nothing is overwritten
    assert backup.stat().st_mode & 0o077 == 0
    assert code("team", "restore", backup, "--db", there) == 0
    assert code("team", "restore", backup, "--db", there) == 2  # no longer empty
    assert code("team", "restore", H200 / "repeat-1.json", "--db", f"sqlite:///{tmp_path / 'third.db'}") == 2
    restored = Team(there)
    for name in ("projects", "alerts", "users", "cards"):
        assert getattr(restored, name)() == getattr(team, name)()
    assert restored.results("lab") == team.results("lab")
    assert restored.result(FIRST.id) == FIRST
    assert restored.user(tokens["ann"]) is not None
    restored.close()
    assert code("team", "export", folder, "--db", here) == 0
    assert code("team", "export", folder, "--db", here) == 2
    tables = {path.stem: pyarrow.parquet.read_table(path).to_pylist() for path in folder.glob("*.parquet")}
    assert {row["name"] for row in tables["users"]} == {*tokens}
    assert all("token" not in row for row in tables["users"])
    assert len(tables["speeds"]) == 2 * len(FIRST.measurements)
    (kept,) = [row for row in tables["results"] if row["id"] == FIRST.id]
    assert store.decode(kept["data"].encode(), "parquet") == FIRST
    assert [row["tag"] for row in tables["tags"]] == ["x"]
    assert {"backup", "export", "push"} <= {row["what"] for row in team.log()}


def test_a_new_database_has_the_tables_of_today_and_one_of_another_schema_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new.db'}"
    team = Team(url)
    with team.engine.connect() as to:
        assert compare_metadata(MigrationContext.configure(to), TABLES) == []
    assert team.push(FIRST, by="ann", project="lab").new
    team.close()
    Team(url).close()  # and stays so
    with sql.create_engine(url).begin() as to:
        to.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(InputError):
        Team(url)
    old = f"sqlite:///{tmp_path / 'old.db'}"  # as gpuwise made them before its first release with a database
    with sql.create_engine(old).begin() as to:
        to.exec_driver_sql("CREATE TABLE results (id TEXT)")
    with pytest.raises(InputError):
        Team(old)
