"""Files of the user's, good and bad: what is found in them, and which line is to blame."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gpuwise import workloads
from gpuwise.errors import GpuwiseError, InputError
from gpuwise.model.question import WorkloadSpec
from gpuwise.workloads import foreign, registry

HEAD = """\
from gpuwise.workloads import WorkloadSpec, workload
def spec(id, **more):
    return WorkloadSpec(id=id, version=1, title=id, item="thing", modes=("infer",), default_batch=8, **more)
"""
GOOD = HEAD + "@workload(spec('one'))\ndef one(config, batch):\n    return batch\n"
TWO = GOOD + "@workload(spec('two', cpu_batch=3))\ndef two(config, batch):\n    return 2 * batch\n"


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_FOREIGN", {})


def written(folder: Path, text: str, name: str = "net.py") -> str:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("reference", "parts"),
    [
        ("net.py", ("net.py", None)),
        ("./a/net.py:one", ("a/net.py", "one")),
        ("a.py/net.py:x", ("a.py/net.py", "x")),
        ("net", None),
        ("timm:net", None),
        ("net.py:", None),
    ],
)
def test_what_means_a_file(reference: str, parts: tuple[str, str | None] | None) -> None:
    found = foreign.split(reference)
    assert (found and (str(found[0]), found[1])) == parts


def test_the_workloads_of_a_file_without_its_folder_in_their_names(tmp_path: Path) -> None:
    one, two = foreign.load_file(written(tmp_path, TWO))
    assert (one.spec.id, two.spec.id) == ("net.py:one", "net.py:two")
    assert one.reference == f"{tmp_path}/net.py:one"
    assert two.build(None, 4) == 8  # type: ignore[arg-type, comparison-overlap]


def test_one_of_them_and_one_that_is_not_there(tmp_path: Path) -> None:
    path = written(tmp_path, TWO)
    assert [w.spec.id for w in foreign.load_file(f"{path}:two")] == ["net.py:two"]
    with pytest.raises(InputError, match=r"net.py has no workload 'three', only one, two") as caught:
        foreign.load_file(f"{path}:three")
    assert caught.value.hint == f"such as {path}:one"


def test_a_file_imports_its_neighbours(tmp_path: Path) -> None:
    written(tmp_path, "SIZE = 5\n", "gw_neighbour.py")
    assert foreign.load_file(written(tmp_path, "from gw_neighbour import SIZE\n" + GOOD))


BAD = [
    ("x = 1\nraise OSError('no disk')\n", "net.py, line 2: OSError: no disk"),
    ("x = 1\n\ndef f(:\n", "net.py, line 3: SyntaxError: invalid syntax"),
    ("import nowhere_at_all\n", "net.py, line 1: ModuleNotFoundError: No module named"),
    ("import sys\nsys.exit(3)\n", "net.py, line 2: SystemExit: 3"),
    ("import json\njson.loads('{')\n", "net.py, line 2: JSONDecodeError"),
    ("x = 1\n", "net.py has no workload"),
    ("from gpuwise.workloads.limits import matmul\n", "net.py has no workload"),
    (
        GOOD + "@workload(spec('one'))\ndef again(config, batch): ...\n",
        "line 7: a second workload with the id 'one'",
    ),
    (HEAD + "@workload(spec('a:b'))\ndef f(config, batch): ...\n", "line 4: an id is a word"),
    (
        HEAD + "@workload(spec('a', precisions=('fp7',)))\ndef f(config, batch): ...\n",
        "precisions is a tuple of fp64",
    ),
    (HEAD + "@workload(spec('a', cpu_batch=0))\ndef f(config, batch): ...\n", "cpu_batch is a positive"),
    (HEAD + "@workload(spec('a', colour='red'))\ndef f(config, batch): ...\n", "net.py, line 3: TypeError"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_what_is_wrong_is_told_with_file_and_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        foreign.load_file(written(tmp_path, text))
    assert said in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize(("base", "named"), [("def forward(self, x): ...", True), ("x = 1", False)])
def test_a_network_without_a_workload_is_for_python(tmp_path: Path, base: str, named: bool) -> None:
    with pytest.raises(InputError) as caught:
        foreign.load_file(written(tmp_path, f"class Net:\n    {base}\n"))
    assert ("predict(Net(...), inputs)" in caught.value.hint) is named


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        foreign.load_file(str(tmp_path / "none.py"))


def test_another_process_reads_it_and_the_registry_keeps_it(tmp_path: Path) -> None:
    """It prints and forks besides, and this process never runs it."""
    noise = "print('hello')\nimport os\nos.fork()\nos.environ['GW_RAN'] = 'yes'\n"
    path = written(tmp_path, noise + TWO)
    one, two = workloads.find(path)
    assert (one.spec.id, two.spec.cpu_batch) == ("net.py:one", 3)
    assert "GW_RAN" not in os.environ
    assert workloads.get("net.py:two") is two
    assert two.build(None, 4) == 8  # type: ignore[arg-type, comparison-overlap]
    with pytest.raises(InputError, match=r"has 2 workloads: net.py:one, net.py:two"):
        workloads.get(path)


def test_errors_come_back_from_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"net.py, line 1: ValueError: no") as caught:
        workloads.find(written(tmp_path, "raise ValueError('no')\n"))
    assert caught.value.hint == f"see all of it with: python {tmp_path}/net.py"


def test_two_files_of_one_name_are_not_mixed_up(tmp_path: Path) -> None:
    workloads.find(written(tmp_path, GOOD, "a/net.py"))
    with pytest.raises(InputError, match=r"two workloads are called net.py:one"):
        workloads.find(written(tmp_path, GOOD, "b/net.py"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "import os\nprint('last words', flush=True)\nos._exit(7)\n",
            "with code 7; its last words: last words",
        ),
        ("import os\nos.kill(os.getpid(), 11)\n", "killed the process that reads it, by SIGSEGV"),
        ("import time\ntime.sleep(60)\n", "was not read within 1 s"),
    ],
)
def test_a_file_that_kills_or_hangs_its_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    if "sleep" in text:
        monkeypatch.setattr(foreign, "PATIENCE_S", 1.0)
    began = time.monotonic()
    with pytest.raises(InputError) as caught:
        foreign.ask(written(tmp_path, text))
    assert said in str(caught.value)
    assert time.monotonic() - began < 30


def test_an_error_without_a_line_of_the_file_names_the_file() -> None:
    assert foreign.describe(ValueError(), Path("net.py")) == "net.py: ValueError"


def test_a_sound_specification_has_no_fault() -> None:
    for spec in workloads.specs():
        assert foreign.unsound(spec) is None
    bad = WorkloadSpec(id="x", version=1, title="", item="x", modes=["infer"], default_batch=1)  # type: ignore[arg-type]
    assert "modes is a tuple" in (foreign.unsound(bad) or "")


def test_every_error_has_a_known_exit_code(tmp_path: Path) -> None:
    with pytest.raises(GpuwiseError) as caught:
        workloads.find(str(tmp_path / "none.py"))
    assert caught.value.exit_code == 2
