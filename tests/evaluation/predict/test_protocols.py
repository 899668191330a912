"""Scoring on made-up data: known errors come out, what is held out never goes in."""

from __future__ import annotations

import gzip
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from evaluation.predict import protocols, scores
from evaluation.predict.case import Case, find_card
from gpuwise.errors import InputError, NoDataError
from gpuwise.predictor.rates import Parameters

GPUS = ("rtx-3090", "rtx-4090", "a100-pcie-40gb", "h100-sxm5-80gb")


class Fake:
    """A set whose fit is the mean of what it is given: leaks would show."""

    quantity, unit = "time", "ms"

    def __init__(self) -> None:
        self.fitted: list[set[str]] = []

    def read(self, rows: Sequence[dict[str, str]]) -> list[Case]:
        raise NotImplementedError

    def fit(self, cases: Sequence[Case]) -> Parameters:
        self.fitted.append({case.gpu for case in cases})
        return {"mean": float(np.mean([math.log(case.measured) for case in cases]))}

    def predict(self, parameters: Parameters, cases: Sequence[Case]) -> np.ndarray:
        return np.array([math.exp(parameters["mean"]) for _ in cases])


def case(gpu: str, model: str, measured: float, refusal: str = "") -> Case:
    found, why = find_card(gpu)
    return Case(
        gpu=gpu, card=found, model=model, measured=measured, flop=1e12, moved=1e9, dtype="fp16",
        key=model, refusal=refusal or why,
    )  # fmt: skip


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    made = Fake()
    monkeypatch.setattr(protocols, "SETS", {"fake": made})
    return made


def test_the_held_out_gpu_is_never_fitted(fake: Fake) -> None:
    cases = [case(gpu, "net", 10.0) for gpu in GPUS]
    found = protocols.predict_all("fake", cases, holdout="gpu")
    assert sorted(map(sorted, fake.fitted)) == sorted(sorted(set(GPUS) - {gpu}) for gpu in GPUS)
    assert found.values == pytest.approx([10.0] * 4)


def test_its_errors_do_not_set_its_interval(fake: Fake) -> None:
    cases = [case(gpu, f"net {i}", 10.0) for gpu in GPUS[:3] for i in range(5)]
    wild = [case(GPUS[3], f"net {i}", 1000.0) for i in range(5)]
    found = protocols.predict_all("fake", [*cases, *wild], holdout="gpu")
    assert found.halves[-1] < math.log(100) / 2
    assert {s.gpu: s.coverage for s in scores.scores(found)}[GPUS[3]] == 0.0


def test_families_and_models(fake: Fake) -> None:
    cases = [
        case(gpu, f"net {i}", 10.0 + i) for gpu in ("h100-sxm5-80gb", "h200-sxm", "t4") for i in range(3)
    ]
    protocols.predict_all("fake", cases, holdout="family")
    assert {"t4"} in fake.fitted
    assert {"h100-sxm5-80gb", "h200-sxm"} in fake.fitted
    many = [case("t4", f"net {i}", 10.0) for i in range(40)]
    assert len(set(protocols.predict_all("fake", many, holdout="model").folds)) <= 10


def test_an_owned_card_is_corrected_by_its_other_networks(fake: Fake) -> None:
    cases = [case(gpu, f"net {i}", 10.0) for gpu in GPUS[:3] for i in range(4)]
    cases += [case(GPUS[3], f"net {i}", 20.0) for i in range(4)]
    plain = protocols.predict_all("fake", cases, holdout="gpu")
    own = protocols.predict_all("fake", cases, holdout="gpu", owned=True)
    assert plain.values[-1] == pytest.approx(10.0)
    assert own.values[-1] == pytest.approx(10.0 * 2 ** (3 / 7))
    assert set(own.evidence) == {"calibrated"}


def test_transfer_uses_the_other_card(fake: Fake) -> None:
    cases = [case("rtx-3090", "a", 8.0), case("rtx-3090", "b", 4.0), case("rtx-4090", "a", 5.0)]
    cases.append(case("rtx-4090", "c", 5.0))
    found = protocols.predict_all("fake", cases, holdout="gpu", transfer="rtx-3090")
    assert [(c.gpu, c.model) for c in found.cases] == [("rtx-4090", "a")]
    assert found.values == pytest.approx([8.0])
    assert fake.fitted[0] == {"rtx-3090"}
    assert np.isnan(found.halves).all()  # no third card says how far a transfer is off
    with pytest.raises(NoDataError):
        protocols.predict_all("fake", cases, holdout="gpu", transfer="t4")


def test_scores_of_known_errors(fake: Fake) -> None:
    cases = [case(gpu, f"net {i}", 10.0) for gpu in GPUS[:2] for i in range(9)]
    cases += [case(GPUS[0], "net", 12.5), case("no such gpu", "net", 10.0), case(GPUS[1], "x", 10.0, "why")]
    found = protocols.predict_all("fake", cases, holdout="gpu")
    pooled = next(score for score in scores.scores(found) if score.gpu == "pooled")
    assert (pooled.n, pooled.refused) == (19, 2)
    assert pooled.failed == pytest.approx((pooled.mape * 19 + 2) / 21)
    assert pooled.median == pytest.approx(0.0, abs=0.03)
    assert {"roofline", "FLOPS ratio", "bandwidth ratio"} <= set(pooled.rivals)


def test_what_coverage_so_few_rows_show() -> None:
    assert scores.tolerance(17) == pytest.approx((10 / 17, 16 / 17))
    assert all(math.isnan(bound) for bound in scores.tolerance(0))


def test_rank_correlation() -> None:
    rising, falling = np.array([1.0, 2.0, 2.0, 9.0]), np.array([4.0, 3.0, 3.0, 1.0])
    assert scores.spearman(rising, falling) == pytest.approx(-1.0)
    assert math.isnan(scores.spearman(rising[:2], falling[:2]))
    assert math.isnan(scores.spearman(rising, np.ones(4)))


def test_files_that_cannot_be_scored(tmp_path: Path) -> None:
    empty, other = tmp_path / "empty.csv", tmp_path / "other.csv"
    empty.write_text("", encoding="utf-8")
    other.write_text("a,b\n1,2\n", encoding="utf-8")
    for path, match in ((tmp_path / "none.csv", "cannot read"), (empty, "no rows"), (other, "no column")):
        with pytest.raises(InputError, match=match):
            protocols.load(path, "gemm")
    with pytest.raises(InputError, match="no set"):
        protocols.load(other, "weather")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("words.csv", b"m,n,k,h100_sxm\n4096,many,4096,0.21\n"),
        ("short.csv", b"m,n,k,h100_sxm\n4096,4096,4096,0.21\n16,16,,0.2\n"),
        ("long.csv", b"m,n,k,h100_sxm\n" + b"1" * 200_000),
        ("wide.csv", b"m,n,k," + b",".join(b"x%d" % n for n in range(5000)) + b"\n1,1,1\n"),
        ("binary.csv", b"m,n,k,h100_sxm\n\x00\xff"),
        ("cut.csv.gz", gzip.compress(b"m,n,k,h100_sxm\n4096,4096,4096,0.21\n", mtime=0)[:-9]),
        ("damaged.csv.gz", b"\x1f\x8b\x08" + b"\xff" * 40),
        ("large.csv.gz", gzip.compress(b"1," * 600, mtime=0)),
        ("large.csv", b"1," * 600),
    ],
)
def test_files_that_are_no_table_of_numbers_are_refused(
    name: str, data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name.startswith("large"):
        monkeypatch.setattr(protocols, "LARGEST", 1000)
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError):
        protocols.load(tmp_path / name, "gemm")


def test_a_product_table_on_shipped_parameters(tmp_path: Path) -> None:
    path = tmp_path / "gemm.csv.gz"
    path.write_bytes(
        gzip.compress(b"m,n,k,h100_sxm,l40s\n4096,4096,4096,0.21,\n16,4096,4096,0.013,0.045\n", mtime=0)
    )
    found = protocols.predict_all("gemm", protocols.load(path, "gemm"))
    assert len(found.cases) == 3
    assert np.abs(np.log(found.values / [case.measured for case in found.cases])).max() < 0.7
    assert found.evidence == ("calibrated", "calibrated", "spec-only")
