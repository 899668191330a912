"""What the server refuses, what its pages may do, and what becomes of what is sent to it."""

from __future__ import annotations

import builtins
import json
import re
from itertools import chain, repeat
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from gpuwise.jobs.facts import Facts
from gpuwise.web.guard import LARGEST_BODY
from gpuwise.web.server import create
from gpuwise.web.site import file_stem
from gpuwise.web.views.audit import LARGEST

from .conftest import HOST, RESULT

TOKEN = "a-token-of-enough-letters"
# Each is a process of the server's; the readers themselves are tried on more in judge/audit/test_fuzz.py, in
# store/test_codec.py and by tools/fuzz.py.
few = settings(max_examples=20)


def send(client: TestClient, path: str, data: bytes, name: str = "result.json") -> tuple[int, str]:
    answer = client.post(path, files={"file": (name, data)})
    return answer.status_code, answer.text


def trap(*_: object) -> None:
    raise AssertionError("no page may come here")


@pytest.mark.parametrize("path", ["/", "/gpus.json", "/nix", "/static/live.js", "/choose"])
def test_every_answer_forbids_what_no_page_needs(path: str, client: TestClient) -> None:
    headers = client.get(path).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/", "/gpus", "/gpus/rtx-4090", "/choose", "/audit", "/predict"])
def test_pages_have_neither_inline_code_nor_foreign_addresses(path: str, client: TestClient) -> None:
    page = client.get(path).text
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", page)
    library = r' data-library="[./]*static/vega\.js\?[0-9a-f]{8}"'
    known = rf'<script(?! src="[./]*static/(live\.js"|charts\.js"{library}) defer></script>)'
    assert not re.search(known, page)
    assert not re.search(r'(?:src|action)="(?:https?:)?//', page)
    assert not re.search(r'<link[^>]*href="(?:https?:)?//', page)


def test_what_is_typed_is_shown_as_text(client: TestClient) -> None:
    attack = "<script>alert(1)</script>"
    for path in ("/gpus", "/predict", "/results/resnet50"):
        page = client.get(path, params={"q": attack, "gpu": attack, "batch": attack}).text
        assert attack not in page
    page = client.post("/audit", files={"text": (None, f"{attack} RTX 4090 has 16,348 CUDA cores")}).text
    assert attack not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; RTX 4090" in page


def test_names_in_a_result_are_shown_as_text(client: TestClient) -> None:
    document = json.loads(RESULT.read_bytes())
    document["environment"]["device"] = "<img src=x onerror=alert(1)>"
    status, page = send(client, "/upload", json.dumps(document).encode())
    assert status == 200
    assert "<img" not in page


def test_a_result_is_shown_in_its_place(client: TestClient) -> None:
    status, page = send(client, "/upload", RESULT.read_bytes())
    assert status == 200
    assert "NVIDIA H200" in page
    assert "<rect" in page
    assert json.loads(send(client, "/upload.json", RESULT.read_bytes())[1])["id"] in page


def test_an_upload_is_neither_written_nor_kept(
    client: TestClient, facts: Facts, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.post("/upload", files={"file": ("r.json", RESULT.read_bytes())})  # what is loaded late is loaded
    real = builtins.open

    def reading(file: object, mode: str = "r", *more: object, **named: object) -> object:
        assert not set(mode) & set("wax+"), file
        return real(file, mode, *more, **named)  # type: ignore[call-overload]

    monkeypatch.setattr(builtins, "open", reading)
    monkeypatch.setattr("tempfile.SpooledTemporaryFile.rollover", trap)
    client = TestClient(create(facts), base_url=HOST)  # the process that reads files is a copy of this one
    before = client.get("/index.json").json()
    assert send(client, "/upload", RESULT.read_bytes())[0] == 200
    assert client.get("/index.json").json() == before
    assert not list(home.rglob("*.json"))


@pytest.mark.parametrize(
    "data", [b"", b"{", b"null", b"[]", b'{"schema": 1}', b'{"schema": 99}', b"[" * 100_000, b"\xff\xfe\x00"]
)  # fmt: skip
def test_a_malformed_result_gets_a_message(data: bytes, client: TestClient) -> None:
    status, page = send(client, "/upload", data)
    assert status == 400
    assert 'class="message"' in page


@few
@given(st.binary(max_size=300), st.text(max_size=20))
def test_no_bytes_break_the_upload(client: TestClient, data: bytes, name: str) -> None:
    for path in ("/upload", "/audit"):
        assert client.post(path, files={"file": (name or "x", data)}).status_code in (200, 400)


LEAVES = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@few
@given(st.data())
def test_no_changed_result_breaks_the_upload(client: TestClient, data: st.DataObject) -> None:
    document = json.loads(RESULT.read_bytes())
    document["measurements"] = document["measurements"][:1]
    place = document["measurements"][0]
    for _ in range(data.draw(st.integers(1, 3))):
        key = data.draw(st.sampled_from(sorted(place)))
        value = place[key]
        if isinstance(value, dict) and value and data.draw(st.booleans()):
            value[data.draw(st.sampled_from(sorted(value)))] = data.draw(JSON)
        else:
            place[key] = data.draw(JSON)
    status, page = send(client, "/upload", json.dumps(document).encode())
    assert status in (200, 400), page


@few
@given(st.text(max_size=400))
def test_no_text_breaks_the_audit(client: TestClient, text: str) -> None:
    assert client.post("/audit", files={"text": (None, text)}).status_code in (200, 400)


def test_findings_stand_beside_their_lines(client: TestClient) -> None:
    text = "First line.\nThe RTX 4090 has 16,348 CUDA cores.\nIt draws 450 W.\n"
    page = client.post("/audit", files={"text": (None, text)}).text
    line = page.split('<li value="2"')[1].split('<li value="3"')[0]
    assert "contradicts" in line
    assert "16,384" in line
    found = client.post("/audit.json", files={"text": (None, text)}).json()
    assert [f["lines"] for f in found[0]["findings"] if f["verdict"] == "contradicts"] == [[2]]


def test_too_much_is_refused_before_it_is_read(client: TestClient) -> None:
    assert send(client, "/upload", b" " * (LARGEST_BODY + 1))[0] == 413
    assert send(client, "/audit", b"a" * (LARGEST + 1), "a.md")[0] == 400


def test_an_address_has_an_end(client: TestClient) -> None:
    # Of one byte less the page says that it asks no such thing.
    asked = [client.get(f"/choose?{'a' * n}=1").status_code for n in (4094, 4095)]
    assert asked == [400, 414]


def test_too_much_is_refused_where_the_length_is_not_told(facts: Facts) -> None:
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'
    parts = chain([head], repeat(b"a" * 2**20))
    read, sent = [], []

    async def receive() -> dict[str, object]:
        read.append(next(parts))
        return {"type": "http.request", "body": read[-1], "more_body": True}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"multipart/form-data; boundary=x")]
    scope = {
        "type": "http", "method": "POST", "path": "/upload", "headers": headers, "query_string": b"",
        "scheme": "http", "server": ("localhost", 80), "http_version": "1.1", "root_path": "",
    }  # fmt: skip
    anyio.run(create(facts), scope, receive, send)
    assert sent[0]["status"] == 413
    assert sum(map(len, read)) < LARGEST_BODY + 2**21


@pytest.mark.parametrize(
    "name", ["../../../etc/passwd", "..%2f..%2fetc%2fpasswd", "/etc/passwd", "%2e%2e/app.py", "web.css%00"]
)
def test_no_path_leads_out(name: str, client: TestClient) -> None:
    for path in ("/static/", "/results/files/", "/gpus/"):
        answer = client.get(path + name)
        assert answer.status_code in (400, 404)
        assert "root:" not in answer.text


@pytest.mark.parametrize("path", ["/predict", "/choose", "/scaling"])
@pytest.mark.parametrize(
    "name", ["./evil.py", "evil.py:job", "timm:resnet50", "hf:gpt2", "torchvision:resnet18"]
)
def test_no_workload_but_a_built_in_one_is_looked_at(
    path: str, name: str, client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text("raise SystemExit('was run')")
    monkeypatch.setattr("gpuwise.workloads.foreign.ask", trap)
    assert client.get(path, params={"workload": name, "gpus": "1"}).status_code in (400, 404)
    assert client.get(f"{path}/{name.replace('/', '%2F')}").status_code in (400, 404)


def test_nothing_is_traced_for_a_page(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "gpuwise.predictor.trace_store.find_spec", trap
    )  # asked before torch is loaded to trace
    for batch in ("", "1", "3", "777", "16384"):
        for precision in ("fp8", "bf16"):
            asks = {"batch": batch, "precision": precision}
            assert client.get("/predict/bert-large", params=asks).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "localhost.evil"])
def test_another_host_name_is_refused(host: str, client: TestClient) -> None:
    assert client.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost", "LOCALHOST", "[::1]:9000"])
def test_the_names_of_this_machine_are_answered(host: str, client: TestClient) -> None:
    assert client.get("/", headers={"host": host}).status_code == 200


def test_a_token_is_asked_for_and_becomes_a_cookie(facts: Facts) -> None:
    app = create(facts, token=TOKEN, hosts=None)
    stranger = TestClient(app, base_url=HOST)
    for path in ("/", "/gpus.json", "/static/live.js", "/?token=wrong"):
        assert stranger.get(path).status_code == 401
    assert stranger.post("/audit", files={"text": (None, "x")}).status_code == 401
    assert stranger.get("/", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    first = stranger.get(f"/?token={TOKEN}", follow_redirects=False)
    assert first.status_code == 303
    assert TOKEN not in first.headers["location"]
    assert "httponly" in first.headers["set-cookie"].lower()
    assert "samesite=strict" in first.headers["set-cookie"].lower()
    assert stranger.get("/gpus").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_another_site_may_not_send_a_post(headers: dict[str, str], client: TestClient) -> None:
    answer = client.post("/audit", files={"text": (None, "RTX 4090 has 24 GB")}, headers=headers)
    assert answer.status_code == 403
    assert client.get("/gpus", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers", [{}, {"origin": HOST, "sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}]
)
def test_this_site_and_programs_may(headers: dict[str, str], client: TestClient) -> None:
    answer = client.post("/audit", files={"text": (None, "RTX 4090 has 24 GB")}, headers=headers)
    assert answer.status_code == 200


def test_a_body_that_trickles_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuwise.web.guard.SLOWEST_BODY_S", 0.05)
    said: list[int] = []
    body = chain([b'--x\r\nContent-Disposition: form-data; name="text"\r\n\r\n'], repeat(b"a"))

    async def receive():
        await anyio.sleep(0.02)
        return {"type": "http.request", "body": next(body), "more_body": True}

    async def send(message):
        if message["type"] == "http.response.start":
            said.append(message["status"])

    kind = (b"content-type", b"multipart/form-data; boundary=x")
    scope = {
        "type": "http", "method": "POST", "path": "/audit", "raw_path": b"/audit", "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), kind], "http_version": "1.1", "scheme": "http", "root_path": "",
    }  # fmt: skip
    anyio.run(create(Facts()), scope, receive, send)
    assert said == [408]


@pytest.mark.parametrize("name", ["../../../package", "..", "a/../../b", "con\x00x", ".hidden", "x" * 400])
def test_no_exported_page_leaves_its_folder(name: str, tmp_path: Path) -> None:
    stem = file_stem(f"/results/{name}")
    made = (tmp_path / f"{stem}.html").resolve()
    assert made.is_relative_to(tmp_path / "results")
    assert all(len(part) <= 151 and not part.startswith(".") for part in stem.split("/"))
    assert stem == file_stem(f"/results/{name}")
