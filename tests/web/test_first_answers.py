"""An answer that nobody asked for before keeps the limit of any page: the whole catalog, nothing forecast.

Once asked for, it takes half as long (`test_views.SERVER_S`)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from .conftest import H200
from .test_views import SLIDER_S

PAGES = (
    "/", "/gpus?sort=-power&memory=40", "/gpus/h100-sxm5-80gb", "/gpus/mi300x", "/compare/a30,l4",
    "/compare/rtx-4090,l40s,a10,t4", "/compare/rtx-a5000,rtx-a4000/article", "/results/bert-large",
    "/scaling/llm-1b?gpu=l40s&gpu=a10", "/predict/bert-large?precision=fp16&gpus=4",
    "/predict/vit-b16?batch=77", "/predict/unet-sd15?gpus=2", "/choose/llm-inference",
    "/choose/scientific-fp64",
)  # fmt: skip
SLIDERS = (
    "/choose?workload=vit-b16&precision=fp16&gpus=1..4&memory=30",
    "/choose?workload=bert-large&gpus=1..8&budget=500",
    "/choose?workload=resnet152&mode=train&gpus=1..8&power=3000",
    "/choose?workload=llm-8b-decode&latency=TPOT<=30ms&gpus=1..2",
)
FILES = ("workloads-vision.json", "workloads-llm.json")
# Two batches of 118 cards, and the largest of the shipped traces to decode for each: 0.2 to 0.34 s.
LATE = "/predict/unet-sd15?gpus=2"
LATE_S = 0.5


def test_first_answers_keep_the_limits_of_all_answers(home: Path, slowness: float) -> None:
    asks = {"addresses": [*PAGES, *SLIDERS], "files": [str(H200 / name) for name in FILES]}
    script = Path(__file__).with_name("first_answers.py")
    done = subprocess.run(
        [sys.executable, str(script)], input=json.dumps(asks), capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert set(found) == {*PAGES, *SLIDERS, *FILES}
    limits = dict.fromkeys(found, SLIDER_S * slowness) | {LATE: LATE_S * slowness}
    print({address: f"{wall:.3f} s" for address, (_, wall) in found.items()})
    assert not {address: cpu for address, (cpu, _) in found.items() if cpu > limits[address]}
