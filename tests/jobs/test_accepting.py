"""Cards that are tested at the same time, and what is heard of them."""

from __future__ import annotations

from threading import Event

from gpuwise.jobs.accepting import side_by_side
from gpuwise.jobs.measuring import Bench, Listen, Update
from gpuwise.measure.session import Progress, Turns
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import Result

CONFIG = RunConfig(workload="resnet50", mode="train", precision="fp32")  # type: ignore[arg-type]


def doing(what: str) -> Progress:
    return Progress(config=CONFIG, number=1, total=1, doing=what, eta_s=0.0)


def ended(name: str) -> Bench:
    place = Environment(device=name)
    return Bench(
        result=Result(id=name, created_at="", command="", environment=place, measurements=()), kept=None
    )


def test_a_card_that_ends_first_is_heard_of_in_its_turn_and_without_its_progress() -> None:
    done, heard = Event(), list[Update]()

    def slow(listen: Listen) -> str:
        listen(doing("slow"))
        assert done.wait(10)
        listen(ended("slow"))
        return "a"

    def fast(listen: Listen) -> str:
        listen(doing("fast"))
        listen(ended("fast"))
        done.set()
        return "b"

    assert side_by_side([slow, fast], Turns(2), heard.append) == ["a", "b"]
    assert heard == [doing("slow"), ended("slow"), ended("fast")]


def test_ctrl_c_ends_all_at_their_next_progress() -> None:
    turns, heard = Turns(2), list[Update]()

    def endless(listen: Listen) -> str:
        try:
            while True:
                listen(doing("on"))
        except KeyboardInterrupt:
            return "stopped"

    def interrupted(update: Update) -> None:
        heard.append(update)
        if len(heard) == 1:
            raise KeyboardInterrupt

    assert side_by_side([endless, endless], turns, interrupted) == ["stopped", "stopped"]
    assert turns.stopped
    assert heard == [doing("on"), None]
