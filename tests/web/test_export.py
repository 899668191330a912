"""The pages as files: every link leads to a file of the folder, and nothing needs a server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from gpuwise.errors import InputError
from gpuwise.facts.catalog import all_gpus
from gpuwise.jobs.facts import Facts
from gpuwise.web import site as explorer
from gpuwise.web.views.gpus import pairs

KEPT = ("rtx-4090", "l40s", "h200-sxm")
PAIR = ("rtx-4090,l40s",)
FEW = {
    "/gpus/{name}": KEPT, "/compare/{name}": PAIR, "/compare/{name}/article": PAIR,
    "/results/{name}": ("resnet50",), "/scaling/{name}": ("resnet50",), "/predict/{name}": ("resnet50",),
    "/choose/{name}": ("vision-cnn",),
    "/leaderboard/{name}": ("resnet50,train",),
}  # fmt: skip


@pytest.fixture(scope="module")
def site(facts: Facts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some pages of each kind."""

    few_gpus = {*KEPT, *facts.studied[::12]}

    def few(of: explorer.Address) -> explorer.Address:
        names: Sequence[str] = FEW[of.path] if of.path in FEW else tuple(of.names(facts))
        if of.path == "/gpus/{name}":
            names = [gpu_id for gpu_id in facts.studied if gpu_id in few_gpus]
        return replace(of, names=lambda facts: names)

    folder = tmp_path_factory.mktemp("site") / "pages"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explorer, "ADDRESSES", tuple(few(of) for of in explorer.ADDRESSES))
        list(explorer.export(facts, folder))
    return folder


def everything(facts: Facts) -> set[str]:
    """Every page that a whole export has."""
    kept = [of for of in explorer.ADDRESSES if not of.live]
    paths = (of.path.replace("{name}", name) for of in kept for name in of.names(facts))
    return {path.strip("/") or "index" for path in paths}


def test_every_link_leads_to_a_page_of_the_whole_site(site: Path, facts: Facts) -> None:
    known = everything(facts)
    for page in site.rglob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"#]+)"', page.read_text()):
            if target.startswith(("https://", "http://")):
                continue  # a source, to be clicked
            found = (page.parent / target).resolve().relative_to(site.resolve())
            assert (site / found).is_file() or str(PurePosixPath(found).with_suffix("")) in known, (
                page,
                target,
            )


def test_files_have_no_forms_and_two_scripts(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 8
    for page in pages:
        assert not re.search(r"<form|<button", page.read_text()), page
        # One sorts and searches tables, the other draws charts once it has loaded the library beside it.
        sources = re.findall('<script src="([^"]*)"', page.read_text())
        assert [Path(source).name for source in sources] == ["live.js", "charts.js"], page
        assert page.read_text().count("<script") == 2, page


def test_the_site_is_small_and_the_lists_have_their_table_beside_them(site: Path, facts: Facts) -> None:
    (board,) = (site / "leaderboard").glob("*.html")
    boards = next(of for of in explorer.ADDRESSES if of.path == "/leaderboard/{name}")
    # Those drawn at random from the order of the catalog: the cards that are known best are the largest.
    gpus = [(site / "gpus" / f"{gpu_id}.html").stat().st_size for gpu_id in facts.studied[::12]]
    others = [page.stat().st_size for page in site.glob("*.*")]
    # A site of every board and every card that is known stays below 5.5 MB; 410 kB are of results.
    every = len(boards.names(facts)) * board.stat().st_size + len(facts.studied) * sum(gpus) / len(gpus)
    static = [file.stat().st_size for file in (site / "static").iterdir()]
    assert every + sum(others) + sum(static) + 410_000 < 5_500_000
    for name in ("index", "gpus", "prices", "results"):
        assert len((site / f"{name}.csv").read_text().splitlines()) > 1


def test_a_folder_with_something_in_it_is_left_alone(site: Path, facts: Facts) -> None:
    with pytest.raises(InputError, match="is not empty"):
        list(explorer.export(facts, site))


def test_a_folder_that_cannot_be_made_is_said(facts: Facts, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write"):
        list(explorer.export(facts, tmp_path / "file" / "site"))


def test_each_gpu_is_compared_with_its_neighbours(facts: Facts) -> None:
    made = pairs(facts)
    assert len(set(made)) == len(made)
    for spec in all_gpus():
        if spec.id in facts.studied and spec.peak("fp16"):
            assert 2 <= sum(spec.id in pair.split(",") for pair in made) <= 4


def test_gpus_known_by_their_data_sheet_alone_have_no_page(facts: Facts, site: Path) -> None:
    assert "rtx-4090" in facts.studied
    assert "quadro-p4000" not in facts.studied
    assert len(facts.studied) < len(facts.ids) / 2
    listed = (site / "gpus.html").read_text()
    assert 'href="gpus/rtx-4090.html"' in listed.replace("./", "")
    assert "Quadro P4000" in listed
    assert "gpus/quadro-p4000.html" not in listed
