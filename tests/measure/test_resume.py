"""What of an earlier session counts, and where it may be resumed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.errors import InputError
from gpuwise.measure import prepare as resume
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import Interval, Measurement, Result

from ..pretended import new_session

CONFIG = RunConfig(workload="matmul", mode="limit", precision="fp32", device="cpu")
OTHER = replace(CONFIG, workload="copy")
FOUND = Environment(device="CPU", torch="2.13", other_processes=0, pcie_generation=5)
SPEED = Interval(value=9.0, low=9.0, high=9.0, method="bootstrap")


def measured(config: RunConfig = CONFIG, **changes: object) -> Measurement:
    fields = {"workload_version": 1, "status": "ok", "item": "FLOP", "started_at": "", "throughput": SPEED}
    return Measurement(config=config, **{**fields, **changes})  # type: ignore[arg-type]


def earlier(*measurements: Measurement, environment: Environment = FOUND) -> Result:
    return Result(
        id="old", created_at="then", command="c", environment=environment, measurements=measurements
    )


def test_what_ended_well_and_is_asked_for_again_is_done() -> None:
    old = earlier(measured(), measured(OTHER))
    assert resume.done(old, [CONFIG]) == (old.measurements[0],)


@pytest.mark.parametrize(
    "changes",
    [{"status": "oom"}, {"status": "interrupted"}, {"status": "failed"}, {"workload_version": 0}],
)
def test_everything_else_is_measured(changes: dict[str, object]) -> None:
    assert resume.done(earlier(measured(**changes)), [CONFIG]) == ()
    assert resume.done(earlier(measured()), [replace(CONFIG, time_s=9.0)]) == ()


def test_the_same_machine_passes_whoever_else_is_there() -> None:
    resume.check_same(earlier(), FOUND)
    resume.check_same(earlier(), replace(FOUND, other_processes=2, pcie_generation=1))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"torch": "2.14"}, "torch was 2.13, is 2.14"),
        ({"device": "NVIDIA H200"}, "device was CPU"),
        ({"variables": (("OMP_NUM_THREADS", "1"),)}, "variables was"),
    ],
)
def test_another_environment_is_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        resume.check_same(earlier(), replace(FOUND, **changes))  # type: ignore[arg-type]
    assert "without resuming" in (caught.value.hint or "")


def test_every_command_of_a_session_is_kept() -> None:
    now = replace(earlier(), created_at="later", command="c --time 3s")
    once = resume.continued(earlier(), now)
    twice = resume.continued(once, replace(now, created_at="last"))
    assert (twice.command, twice.created_at) == ("c", "then")
    assert [(each.started_at, each.command) for each in twice.resumed] == [
        ("later", "c --time 3s"),
        ("last", "c --time 3s"),
    ]


def test_a_session_on_two_cards_is_no_card_s_own() -> None:
    old = earlier(environment=replace(FOUND, card="a"))
    assert resume.continued(old, old).environment.card == "a"
    other = replace(old, environment=replace(FOUND, card="b"))
    resume.check_same(old, other.environment)
    both = resume.continued(old, other)
    assert (both.environment.card, both.resumed[0].card) == (None, "b")
    # Which card went on is said once: where it changes.
    assert [each.card for each in resume.continued(both, other).resumed] == ["b", None]
    assert [each.card for each in resume.continued(both, old).resumed] == ["b", "a"]


def test_published_figures_are_no_session() -> None:
    with pytest.raises(InputError, match="no session to resume"):
        resume.check_same(replace(earlier(), origin="published"), FOUND)


def test_a_session_goes_on_in_the_result_with_its_limits() -> None:
    kept: list[Result] = []
    session = new_session(kept)
    session.resume(earlier(measured(), measured(OTHER, status="oom", throughput=None)))
    assert (session.result.id, session.result.command) == ("old", "c")
    assert session.limits.flop_per_s == {"fp32": 9.0}
    assert not session.began
    list(session.measure_all([replace(OTHER, size="toy", time_s=0.2)]))
    assert len(kept[-1].measurements) == 3
    list(session.measure_all([replace(OTHER, size="toy", time_s=0.2)]))
    assert [m.status for m in kept[-1].measurements] == ["ok", "oom", "ok"]  # the newer in its place
