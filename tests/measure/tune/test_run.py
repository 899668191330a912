"""A search over a session whose measurements are formulas, and what it concludes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from gpuwise.measure.session import Progress
from gpuwise.measure.tune import FINAL_S, TRIAL_S, Tuner
from gpuwise.model.question import Environment, RunConfig, Switches
from gpuwise.model.result import Measurement, Result
from gpuwise.show import tuning as report

from .conftest import measurement

CONFIG = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True, time_s=60.0)
RESULT = Result(
    id="r",
    created_at="",
    command="",
    environment=Environment(device="GPU", gpu_id="test-gpu", torch="2.11.0", cuda="13.0"),
)


@dataclass
class FakeSession:
    """Measures what a formula says; a trial takes 30 s on its clock."""

    speed: Callable[[RunConfig], float | None]
    asked: list[RunConfig] = field(default_factory=list)
    norm: Callable[[RunConfig], float] = lambda config: 2.0
    time_s: float = 0.0
    result: Result = RESULT

    def measure_all(self, configs: Sequence[RunConfig]) -> Iterator[Progress | Measurement]:
        for config in configs:
            self.asked.append(config)
            self.time_s += 30.0
            yield Progress(config=config, number=1, total=1, doing="timing", eta_s=1.0)
            found = measurement(self.speed(config), batch=config.batch or 0, norm=self.norm(config))
            found = replace(found, config=config)
            self.result = replace(self.result, measurements=(*self.result.measurements, found))
            yield found


def tune(session: FakeSession, time_s: float = 1e6, config: RunConfig = CONFIG, **given: Any) -> Tuner:
    tuner = Tuner(session=session, config=config, time_s=time_s, now=lambda: session.time_s, **given)  # type: ignore[arg-type]
    told: list[Progress] = []
    assert list(tuner.run(told.append)) == tuner.trials
    assert len(told) == len(session.asked) - (tuner.trials[-1].measurement.status == "interrupted")
    return tuner


def triton_is_fast(config: RunConfig) -> float:
    return (110.0 if config.switches.pooling == "triton" else 100.0) - abs((config.batch or 0) - 512) / 100


def test_the_best_is_measured_again_beside_the_default() -> None:
    session = FakeSession(triton_is_fast)
    tuning = tune(session).tuning
    assert tuning is not None
    tuned = tuning.tuned
    assert tuned is not None
    assert tuned.switches == Switches(pooling="triton")
    assert tuned.batch == 512
    assert (tuned.device, tuned.torch, tuned.cuda, tuned.source) == ("test-gpu", "2.11.0", "13.0", "r")
    assert tuned.gain.value > 1.09
    default, best = session.asked[-2:]
    assert (default.switches, default.batch) == (Switches(), 256)  # the workload's own batch
    assert (best.switches, best.batch) == (tuned.switches, 512)
    assert {c.time_s for c in session.asked[-2:]} == {FINAL_S}
    assert {c.time_s for c in session.asked[:-2]} == {TRIAL_S}


def test_a_trial_that_goes_on_for_too_long_is_ended_also_the_first() -> None:
    session = FakeSession(triton_is_fast)
    tuner = tune(session, 20.0)
    assert [(t.measurement.status, t.adopted) for t in tuner.trials] == [("interrupted", False)]
    assert tuner.tuning is not None
    assert tuner.tuning.tuned is None
    assert tune(FakeSession(triton_is_fast), 30.0).trials[0].adopted  # it has just ended


@pytest.mark.parametrize(("batch", "gpus", "given"), [(None, 1, False), (64, 1, True), (64, 4, False)])
def test_a_batch_that_was_given_is_told(batch: int | None, gpus: int, given: bool) -> None:
    """Several GPUs take theirs from the recipe of one, so theirs may not be the user's."""
    tuning = tune(FakeSession(triton_is_fast), config=replace(CONFIG, batch=batch, gpus=gpus)).tuning
    assert tuning is not None
    assert tuning.tuned is not None
    assert tuning.tuned.batch_given is given


def test_a_default_that_is_best_has_a_gain_of_one() -> None:
    tuning = tune(FakeSession(lambda config: 100.0)).tuning
    assert tuning is not None
    assert tuning.tuned is not None
    assert tuning.tuned.switches == Switches()
    assert tuning.tuned.gain.value == 1.0


def test_a_fast_setting_with_other_gradients_is_refused() -> None:
    session = FakeSession(triton_is_fast, norm=lambda c: 1.0 if c.switches.pooling == "triton" else 2.0)
    tuning = tune(session).tuning
    assert tuning is not None
    assert tuning.tuned is not None
    assert tuning.tuned.switches == Switches()
    refused = [t for t in tuning.trials if t.setting.switches.pooling == "triton"]
    assert refused
    assert all("gradients" in (t.refusal or "") for t in refused)


def test_the_time_ends_it() -> None:
    session = FakeSession(triton_is_fast)
    tuning = tune(session, time_s=300.0).tuning
    assert tuning is not None
    assert tuning.left > 0
    assert session.time_s <= 300.0


def test_time_for_the_default_only_finds_nothing() -> None:
    """Its recipe would go before one that a longer search had found."""
    session = FakeSession(triton_is_fast)
    tuning = tune(session, time_s=60.0).tuning
    assert tuning is not None
    assert (len(session.asked), tuning.tuned) == (1, None)
    assert tuning.left > 0
    assert report.found(tuning) == "no recipe is kept: there was time for the default only"


def test_nothing_runs_nothing_is_found() -> None:
    tuning = tune(FakeSession(lambda config: None)).tuning
    assert tuning is not None
    assert tuning.tuned is None
    assert len(tuning.trials) == 1


@pytest.mark.parametrize("only", [(), (Switches(graph="on"),)])
def test_what_is_found_is_no_slower_than_the_recipe_that_is_known(only: tuple[Switches, ...]) -> None:
    """What is kept goes before it, also after a search that would not have met it."""
    session = FakeSession(triton_is_fast)
    known = replace(CONFIG, switches=Switches(pooling="triton"), batch=512)
    tuning = tune(session, known=known, only=only).tuning
    assert tuning is not None
    assert tuning.tuned is not None
    assert (tuning.tuned.switches, tuning.tuned.batch) == (known.switches, known.batch)
    assert (session.asked[1].switches, session.asked[1].batch) == (known.switches, known.batch)
    if only:
        assert [t.setting.switches for t in tuning.trials] == [Switches(), known.switches, *only]


def test_a_given_batch_is_kept() -> None:
    session = FakeSession(triton_is_fast)
    tune(session, config=replace(CONFIG, batch=64))
    assert {c.batch for c in session.asked} == {64}


def test_an_interrupt_leaves_the_trials_that_ended() -> None:
    def speed(config: RunConfig) -> float:
        if len(session.asked) == 3:
            raise KeyboardInterrupt
        return triton_is_fast(config)

    session = FakeSession(speed)
    tuner = Tuner(session=session, config=CONFIG, time_s=1e6, now=lambda: session.time_s)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        list(tuner.run())
    assert tuner.tuning is not None
    assert len(tuner.tuning.trials) == 2
    assert tuner.tuning.tuned is None


def test_a_search_that_goes_on_measures_no_kept_trial_again() -> None:
    whole = FakeSession(triton_is_fast)
    expected = tune(whole)

    def speed(config: RunConfig) -> float:
        if config.time_s == FINAL_S:
            raise KeyboardInterrupt
        return triton_is_fast(config)

    cut = FakeSession(speed)
    with pytest.raises(KeyboardInterrupt):
        tune(cut)
    kept = FakeSession(triton_is_fast, result=cut.result)
    again = tune(kept)
    assert again.trials == expected.trials
    assert again.tuning == expected.tuning
    assert [c.time_s for c in kept.asked] == [FINAL_S, FINAL_S]


def test_a_trial_that_failed_is_measured_again() -> None:
    failed = FakeSession(lambda config: None)
    tune(failed)
    kept = FakeSession(triton_is_fast, result=failed.result)
    assert tune(kept).trials[0].speed is not None
