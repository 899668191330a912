"""Calls as people in a hurry type them: each ends with a documented code and never with a traceback.

Where the input is at fault (exit code 2), standard error has a line that says what is wrong and a next step.
Calls are data: a line is split as a shell would, in a folder with the files that `folder` writes. A call
that is known to fail is in `DEFECTS`, with its reason; when it works, its entry has to go.
"""

from __future__ import annotations

import io
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path

import pytest

from gpuwise.cli.main import run

ROOT = Path(__file__).parents[2]
STARTED = Path.cwd()
CODES = {0, 1, 2, 3, 4, 5}
ERROR = re.compile(r"^(gpuwise|Error): +\S", re.MULTILINE)
NEXT = re.compile(r"^( *next: \S|Try '|Usage: )", re.MULTILINE)
LONG = "x" * 5000

CALLS = {
    "typos of verbs": """
        shwo last
        sohw rtx-4090
        gpu
        GPUS
        Show rtx-4090
        comapre rtx-4090 rtx-3090
        prdict resnet50
        bnech resnet50
        benchmark
        chose resnet50
        pricess h100
        price h100
        list
        help
        version
        -v
        --versoin
        --hlep
        -x
        --
        ''
        ' '
        résultats
        gpuwise gpus
        show-last
        workload resnet50
        launch slrum -- resnet50
        launch
        launch k8s -- resnet50
        launch Slurm --dry-run -- resnet50
    """,
    "typos of options": """
        gpus --jsno
        gpus --json=yes
        gpus --sort
        gpus --sort nosuch
        gpus --sort=
        gpus -o
        show rtx-4090 --ful
        show rtx-4090 -full
        show rtx-4090 --for
        show
        show rtx-4090 rtx-3090
        compare
        compare rtx-4090
        compare rtx-4090 --articel
        compare rtx-4090 rtx-3090 rtx-5090 --article
        predict
        predict resnet50 --gpus-per-node 8
        predict resnet50 --gpu
        predict resnet50 --gpu=
        predict resnet50 --sort nosuch
        predict resnet50 --sort -speed
        choose resnet50 --hav rtx-4090
        choose resnet50 --own --rent
        choose resnet50 --spot maybe
        choose resnet50 --compile maybe
        choose resnet50 --form tower
        choose resnet50 --provider nosuch
        prices h100 --sort size
        prices h100 --kind weekly
        prices h100 --provider nosuch
        prices updat
        audit
        audit --strict article.md
        accept --suit quick result.json
        accept --suite nosuch --device cpu
        accept --device tpu
        bench --suite nosuch --device cpu
        bench resnet50 --prec bf16 --device tpu
        bench resnet50 --device gpu
        bench resnet50 --framework pytorch --device cpu
        bench resnet50 --protocol fast --device cpu
        bench resnet50 --recipe best --device cpu
        bench resnet50 --switch layout --device cpu
        bench resnet50 --switch nosuch=on --device cpu
        bench resnet50 --switch layout=sideways --device cpu
        bench resnet50 --scaling medium --device cpu
        bench resnet50 --compile maybe --device cpu
        tune
        tune resnet50 bert-large --device cpu
        tune nosuch --device cpu
        tune resnet50 --try nosuch=1 --device cpu
        tune resnet50 --try layout --device cpu
        tune resnet50 --device tpu
        reproduce
        reproduce last
        reproduce nosuch
        merge
        merge result.json
        merge result.json result.json
        validate
        validate --set gemm
        validate --set nosuch --data table.csv
        serve --prot 80
        serve --public --host 0.0.0.0
        serve --public --host 0.0.0.0 --token short
        workloads --jsn
        doctor now
        launch slurm --nodes two -- resnet50
        launch slurm --dry-run
        launch kubernetes -- resnet50
        launch kubernetes --image '' -- resnet50
        results resnet50 --format nosuch --import table.csv
        report result.json -o report.doc
        report result.json -o report
        gpus -o list.xlsx
        show result.json -o shown.yaml
    """,
    "names of GPUs": """
        show h100
        show a100
        show 'rtx 4080'
        show v100
        show 4090
        show rtx4090
        show RTX_4090
        show 'NVIDIA GeForce RTX 4090'
        show rtx-4900
        show 'rtx 4090 ti'
        show nvidia
        show gpu
        show 'h 100'
        show -1
        show 0
        compare h100 a100
        compare rtx-4090 rtx-4090
        compare rtx-4090 nosuch
        compare rtx-4090 ''
        compare rtx-4090 result.json
        gpus rtx4900
        gpus 24
        gpus 24gb
        gpus 24GB...48GB
        gpus 48GB..24GB
        gpus ..
        gpus ,
        gpus H100:
        gpus H100:0
        gpus H100:-1
        gpus H100:many
        gpus H100:99999999999999999999
        gpus 80PB
        gpus -- -24GB
        predict resnet50 --gpu nosuch
        predict resnet50 --gpu rtx-4090,
        predict resnet50 --gpu ,
        predict resnet50 --gpu rtx-4090,nosuch
        predict resnet50 --gpu 'rtx-4090 l40s'
        predict resnet50 --gpu rtx-4090:8
        choose resnet50 --have nosuch
        choose resnet50 --have rtx-4090:0
        choose resnet50 --have rtx-4090:x
        prices nosuch
        prices h100:0
        prices h100:x
        prices ''
        results resnet50 --gpu nosuch
        results resnet50 --gpu h100
        accept result.json --against nosuch
        accept result.json --against h100
        validate --set gemm --data table.csv --transfer nosuch
    """,
    "names of workloads, modes and precisions": """
        predict resnet
        predict ResNet-50
        predict resnet50,bert-large
        predict 'resnet 50'
        predict bert
        predict llama
        predict served:
        predict served:nosuch
        predict served:llama-3.1-70b --gpu rtx-3090
        predict timm:
        predict timm:nosuch
        predict torchvision:nosuch
        predict hf:
        predict hf:nosuch.json
        predict nosuch:resnet50
        predict resnet50 --mode training
        predict resnet50 --mode inference
        predict resnet50 --precision fp12
        predict resnet50 --precision BF16
        predict resnet50 --precision fp8
        predict resnet50 --precision bf16,fp16
        predict resnet50 --precision ''
        predict resnet50 --recipe best
        predict llm-8b-decode --mode train
        predict matmul
        predict fft
        bench nosuch --device cpu
        bench resnet5 --device cpu
        bench resnet50 --mode training --device cpu
        bench resnet50 --mode compute --device cpu
        bench resnet50 --precision fp12 --device cpu
        bench resnet50 --precision int8 --device cpu
        bench resnet50 --precision '' --device cpu
        bench resnet50 --precision , --device cpu
        bench fft --mode train --device cpu
        bench --workload nosuch --device cpu
        bench timm:nosuch --device cpu
        bench served:llama-3.1-8b --device cpu
        choose nosuch
        choose resnet50,nosuch
        choose resnet50=
        choose resnet50=-1
        choose resnet50=0
        choose resnet50=lots
        choose resnet50 --mode guess
        choose resnet50 --precision fp12
        choose resnet50 --model my_model.py
        choose --model nosuch.py
        choose vision-cn
        results resnet
        results ResNet50
        results resnet50 --mode training
        results resnet50 --precision fp12
        results resnet50 --source nosuch
        workloads nosuch
        workloads resnet50 nosuch
        workloads timm:nosuch
    """,
    "amounts": """
        predict resnet50 --batch 0
        predict resnet50 --batch -1
        predict resnet50 --batch many
        predict resnet50 --batch 1.5
        predict resnet50 --batch 99999999999999999999
        predict resnet50 --batch 1e3
        predict resnet50 --gpus 0
        predict resnet50 --gpus -8
        predict resnet50 --gpus 8x
        predict resnet50 --gpus 99999999999999999999
        predict served:llama-3.1-8b --prompt 0
        predict served:llama-3.1-8b --gpu l40s --prompt 99999999999999
        predict served:llama-3.1-8b --gpu l40s --answer 99999999999999
        predict served:llama-3.1-8b --answer 1k
        choose resnet50 --work 1000000
        choose resnet50 --work images
        choose resnet50 --work '1M tokens'
        choose resnet50 --work '-5 images'
        choose resnet50 --work '1M'
        choose resnet50 --work '1X images'
        choose resnet50 --work '0 images'
        choose resnet50 --work '1e400 images'
        choose resnet50 --work '3 epochs'
        choose resnet50 --work ''
        choose resnet50 --deadline 24
        choose resnet50 --work '1M images' --deadline 24
        choose resnet50 --work '1M images' --deadline soon
        choose resnet50 --work '1M images' --deadline -3d
        choose resnet50 --work '1M images' --deadline 0h
        choose resnet50 --work '1M images' --deadline ''
        choose llm-8b-decode --latency 30
        choose llm-8b-decode --latency 30ms
        choose llm-8b-decode --latency 'TPOT<30'
        choose llm-8b-decode --latency 'TPOT<=30'
        choose llm-8b-decode --latency 'TPOT<=-30ms'
        choose llm-8b-decode --latency 'XYZ<=30ms'
        choose resnet50 --budget 3000
        choose resnet50 --budget '$'
        choose resnet50 --budget '$-5'
        choose resnet50 --budget '3000 euros'
        choose resnet50 --budget '$2/y'
        choose resnet50 --budget '$1e400'
        choose resnet50 --budget nan
        choose resnet50 --memory 40
        choose resnet50 --memory 80GB..40GB
        choose resnet50 --memory big
        choose resnet50 --power 850
        choose resnet50 --power -850W
        choose resnet50 --power 1kW
        choose resnet50 --slots 0
        choose resnet50 --slots two
        choose resnet50 --slots -1
        choose resnet50 --gpus 0
        choose resnet50 --gpus 8..1
        choose resnet50 --gpus many
        choose resnet50 --gpus ..
        choose resnet50 --gpus 1..99999999999
        choose resnet50 --batch 0
        choose resnet50 --batch 99999999999999999999
        choose resnet50 --rate EUR
        choose resnet50 --rate EUR=
        choose resnet50 --rate EUR=-1
        choose resnet50 --rate EUR=nan
        choose resnet50 --newer-than 90
        choose resnet50 --newer-than -90d
        choose resnet50 --newer-than 99999999999d
        choose resnet50 --electricity 0.30
        choose resnet50 --electricity cheap
        choose resnet50 --electricity '$-1/kWh'
        choose resnet50 --hours-per-week 200
        choose '0m model'
        choose 'cheapest GPU under 1.2.3 cents an hour for resnet50'
        choose '2 million images a day with resnet50, 1..2 %'
        choose 'images with resnet50, 0 % of the time, vit 0 % of the time'
        choose '5 students each fine-tune a 7B with LoRA 0 hours a week'
        choose '9999999999999999999999999 GPUs for resnet50'
        choose resnet50 --hours-per-week -1
        choose resnet50 --hours-per-week nan
        choose resnet50 --years 0
        choose resnet50 --years -1
        choose resnet50 --years 1e400
        choose resnet50 --host 800
        choose resnet50 --host-power 200
        choose resnet50 --cooling 0
        choose resnet50 --cooling hot
        choose resnet50 --depreciation 50
        choose resnet50 --depreciation 150%
        choose resnet50 --utilisation 0
        choose resnet50 --utilisation -10%
        choose resnet50 --top -1
        choose resnet50 --top all
        prices h100 --max 3
        prices h100 --max '$3/y'
        prices h100 --max -1
        prices h100 --count 0
        prices h100 --count -1
        prices h100 --count nan
        prices h100 --count eight
        prices h100 --newer-than 90
        prices h100 --newer-than 0d
        prices h100 --newer-than 9999999999999y
        prices h100 --rate 1.08
        prices h100 --rate EUR=x
        prices h100 --top -1
        prices h100 --top 99999999999999999999
        results resnet50 --gpus 0
        results resnet50 --gpus 99999999999999999999
        compare result.json other.json --fail-if slower
        compare result.json other.json --fail-if 'slower>5'
        compare result.json other.json --fail-if 'slower>-5%'
        compare result.json other.json --fail-if 'slower>nan%'
        compare result.json other.json --fail-if 'slower>1e400%'
        compare result.json other.json --fail-if ''
        accept result.json --margin 5
        accept result.json --margin -5%
        accept result.json --margin 500%
        accept result.json --margin nan
        accept result.json --time 20 --device x
        bench resnet50 --device cpu --time soon
        bench resnet50 --device cpu --time -5s
        bench resnet50 --device cpu --time 0
        bench resnet50 --device cpu --time nan
        bench resnet50 --device cpu --target-ci 0
        bench resnet50 --device cpu --target-ci lots
        bench resnet50 --device cpu --target-ci -1%
        bench resnet50 --device cpu --batch 0
        bench resnet50 --device cpu --batch -8
        bench resnet50 --device cpu --batch 8,,16x
        bench resnet50 --device cpu --gpus 0
        bench resnet50 --device cpu --gpus -1
        bench resnet50 --device cpu --gpus x
        bench resnet50 --device 99
        bench resnet50 --device -1
        bench resnet50 --device cuda
        bench resnet50 --nodes 0
        bench resnet50 --nodes 2
        bench resnet50 --device cpu --nodes 2 --rdzv nosuch
        bench resnet50 --device cpu --nodes 2 --rdzv host:port
        bench resnet50 --device cpu --nodes 2 --rdzv host:99999999
        bench resnet50 --device cpu --nodes 2 --rdzv localhost:29400 --node-rank 2
        bench resnet50 --device cpu --node-rank -1
        tune resnet50 --device cpu --time soon
        tune resnet50 --device cpu --time -1m
        tune resnet50 --device cpu --batch 0
        tune resnet50 --device cpu --gpus 0
        launch slurm --dry-run --time 1h -- resnet50
        launch slurm --dry-run --time 25 -- resnet50
        launch slurm --dry-run --nodes 0 -- resnet50
        launch slurm --dry-run --name 'My Job' -- resnet50
        launch kubernetes --image me/it --name 'My Job' -- resnet50
        launch kubernetes --image me/it --gpus-per-node -1 -- resnet50
        serve --port 99999
        serve --port http
        serve --port -1
    """,
    "files": """
        show missing.json
        show empty.json
        show binary.json
        show folder
        show folder.json
        show .
        show /
        show /dev/null
        show list.json
        show number.json
        show nan.json
        show cut.json
        show future.json
        show deep.json
        show latin1.json
        show bom.json
        show dangling.json
        show article.md
        show page.html
        show table.csv
        show my_model.py
        show missing/missing.json
        show ~nosuch/x.json
        show last
        show result.json -o folder.json
        show result.json -o missing/x.json
        show result.json -o /proc/x.json
        show result.json -o ''
        show result.json -o result.json/x.json
        compare result.json missing.json
        compare result.json empty.json
        compare result.json binary.json
        compare result.json folder
        compare result.json cut.json
        compare result.json article.md
        compare rtx-4090 rtx-3090 --article --file missing.json
        compare rtx-4090 rtx-3090 --article --file binary.json
        report missing.json
        report empty.json
        report binary.json
        report folder
        report last
        report cut.json -o report.html
        report result.json -o folder
        report result.json -o missing/report.html
        report result.json missing.json
        report list.json
        audit missing.md
        audit empty.md
        audit binary.json
        audit binary.md
        audit folder
        audit latin1.md
        audit bom.md
        audit cut.json
        audit list.json
        audit nan.json
        audit deep.json
        audit wide.csv
        audit ragged.csv
        audit empty.csv
        audit zero.html
        audit /dev/null
        audit -
        audit - -
        audit article.md missing.md
        accept missing.json
        accept empty.json
        accept folder
        accept binary.json
        accept cut.json
        accept fake.zip
        accept empty.zip
        accept result.json --against missing.json
        accept result.json --against folder
        accept result.json --against binary.json
        merge missing.json result.json
        merge binary.json empty.json
        merge folder folder
        results --import missing.csv
        results --import empty.csv
        results --import binary.csv
        results --import folder
        results --import result.json
        results --import list.json
        results --import article.md --format mlperf
        results --import binary.csv --format lambda
        results --import empty.csv --format timm
        results --import ragged.csv --format lambda
        results resnet50 --file missing.json
        results resnet50 --file binary.json
        results resnet50 --file folder
        prices h100 --prices missing.csv
        prices h100 --prices empty.csv
        prices h100 --prices binary.csv
        prices h100 --prices folder
        prices h100 --prices table.csv
        prices h100 --prices ragged.csv
        prices h100 --prices bad-prices.csv
        choose resnet50 --prices missing.csv
        choose resnet50 --prices binary.csv
        choose resnet50 --measured missing.json
        choose resnet50 --measured folder
        choose resnet50 --measured cut.json
        choose resnet50 --have missing.json
        choose missing.json
        choose empty.json
        choose binary.json
        choose result.json
        choose list.json
        choose folder.json
        choose nan.json
        choose --model empty.py
        predict missing.py
        predict ./missing.py
        predict ./empty.py
        predict ./syntax.py
        predict ./raises.py
        predict ./binary.py
        predict ./folder
        predict ./my_model.py:nosuch
        predict ./article.md
        predict resnet50 --calibrate missing.json
        predict resnet50 --calibrate binary.json
        predict resnet50 --calibrate folder
        predict resnet50 --calibrate last
        predict resnet50 --from missing.json
        predict resnet50 --from last
        predict resnet50 --from result.json --gpu rtx-4090 --mode infer
        workloads ./missing.py
        workloads ./empty.py
        workloads ./syntax.py
        workloads ./raises.py
        workloads ./exits.py
        workloads ./binary.py
        workloads ./folder
        workloads hf:./empty.json
        bench ./missing.py --device cpu
        bench ./syntax.py --device cpu
        bench ./empty.py --device cpu
        bench ./my_model.py:nosuch --device cpu
        bench resnet50 --device cpu --resume missing.json
        bench resnet50 --device cpu --resume binary.json
        bench resnet50 --device cpu --resume last
        bench resnet50 --device cpu -o /proc/x.json
        bench resnet50 --device cpu -o folder.json
        bench resnet50 --device cpu -o x.txt
        tune resnet50 --device cpu --resume missing.json
        tune resnet50 --device cpu -o /proc/x.json
        reproduce missing.json
        reproduce binary.json
        reproduce folder
        reproduce empty.json
        validate --set gemm --data missing.csv
        validate --set gemm --data empty.csv
        validate --set gemm --data binary.csv
        validate --set gemm --data folder
        validate --set gemm --data article.md
        validate --set gemm --data fake.csv.gz
        validate --set timm --data table.csv
        validate --set neusight --data table.csv
        validate --set serving --data ragged.csv
        validate --set power --data table.csv
        validate --set lambda --data table.csv
        serve missing.json
        serve binary.json --static site-of-binary
        serve --static broken-home
        serve --static article.md
        serve folder --static site-of-folder
    """,
    "odd texts": """
        show ''
        show ' '
        show $LONG
        show $LONG.json
        show 名前
        show résultat.json
        show 🙂
        show "a\\nb"
        show '%s %d {}'
        show '[red]rtx-4090[/red]'
        show $INVALID
        show $INVALID.json
        show ../../../../etc/passwd
        compare '' ''
        compare $LONG $LONG
        compare 名前 🙂
        gpus ''
        gpus ' '
        gpus $LONG
        gpus 名前
        gpus '*'
        gpus '('
        gpus $INVALID
        gpus '٢٤GB'
        gpus '²GB'
        predict ''
        predict $LONG
        predict 名前
        predict ./名前.py
        predict ./$LONG.py
        predict $INVALID
        predict resnet50 --gpu ''
        predict resnet50 --gpu $LONG
        predict resnet50 --gpu 名前
        predict resnet50 --batch ²
        predict resnet50 --batch ٣ --gpu l40s
        predict served:$LONG
        choose ''
        choose $LONG
        choose 名前
        choose resnet50 --work '٣M images'
        choose resnet50 --work '² images'
        choose resnet50 --budget '€3000'
        choose resnet50 --budget '£3000'
        choose resnet50 --budget $LONG
        choose resnet50 --gpus ²
        choose resnet50 --provider 名前
        choose resnet50 --slots ²
        prices $LONG
        prices 名前
        prices h100 --max '€3/h'
        prices h100:²
        prices h100 --region 名前
        results ''
        results $LONG
        results 名前
        results --import $LONG
        audit ''
        audit $LONG
        audit 名前.md
        audit $INVALID
        report ''
        report $LONG
        accept ''
        accept $LONG
        workloads ''
        workloads $LONG
        workloads ./$INVALID.py
        bench '' --device cpu
        bench $LONG --device cpu
        bench 名前 --device cpu
        bench resnet50 --device cpu --batch ²
        bench resnet50 --device cpu --time ²s
        launch slurm --dry-run -- $LONG
        launch slurm --dry-run -- '$(true)'
        launch slurm --dry-run --name '' -- resnet50
        launch slurm --dry-run --time ²:00:00 -- resnet50
        launch kubernetes --image 名前 -- 名前
        serve --host 名前 --port 0 --public
        serve --host ''
        merge '' ''
        validate --set gemm --data ''
    """,
}
ASCII = """
    gpus
    gpus 24GB.. --json
    show rtx-4090
    show result.json
    show result.json --chart
    compare rtx-4090 rtx-3090
    compare result.json other.json
    report result.json
    predict resnet50 --gpu rtx-4090
    choose resnet50 --top 3
    prices h100
    results resnet50
    workloads
    audit article.md
    show 名前
"""
"""Where the standard output has ASCII alone."""
NARROW = """
    show rtx-4090
    show result.json
    show result.json --chart
    compare rtx-4090 rtx-3090
    predict resnet50 --gpu rtx-4090,h100-sxm
    choose resnet50 --top 3
    prices h100 --top 3
    audit article.md
"""
"""On a terminal of 60 columns."""
SHELL = """
    gpuwise gpus | head -1
    gpuwise gpus --json | head -c 10
    gpuwise gpus | true
    gpuwise --help | head -1
    gpuwise workloads --json | head -1
    gpuwise nosuch 2>&1 | true
    gpuwise gpus --json >&-
    gpuwise gpus --json > /dev/full
    gpuwise --version > /dev/full
    gpuwise show result.json > /dev/full
    ln -sf /dev/full ../full.json; gpuwise show rtx-4090 -o ../full.json
    gpuwise show nosuch 2> /dev/full
    gpuwise nosuch 2>&-
    gpuwise audit - <&-
    gpuwise choose <&-
    gpuwise audit - < /dev/null
    gpuwise audit - < binary.json
    GPUWISE_HOME=result.json gpuwise
    GPUWISE_HOME=result.json gpuwise show last
    GPUWISE_HOME=result.json gpuwise results resnet50
    GPUWISE_HOME= HOME= gpuwise show last
    GPUWISE_HOME=broken-home gpuwise results resnet50
    GPUWISE_HOME=broken-home gpuwise show last
    GPUWISE_HOME=broken-home gpuwise choose resnet50 --top 1
    COLUMNS=60 gpuwise gpus
    COLUMNS=1 gpuwise show rtx-4090
    COLUMNS=0 gpuwise --help
    COLUMNS=x gpuwise gpus
    mkdir -p gone && cd gone && rmdir ../gone && gpuwise gpus
    mkdir -p gone && cd gone && rmdir ../gone && gpuwise show x.json
"""
"""In a process of its own, by bash."""

DEFECTS: dict[str, str] = {}
"""Calls that fail today, and why: none."""

SURROUNDINGS = {
    "$LONG": LONG,
    "$INVALID": os.fsdecode(b"caf\xe9"),
}


def lines(text: str) -> Iterator[str]:
    """The calls of a text, one a line."""
    yield from (line.strip() for line in text.splitlines() if line.strip())


def params(text: str, defects: dict[str, str] = DEFECTS) -> list[object]:
    """Calls as parameters; one with a known defect has to fail."""
    return [
        pytest.param(
            line,
            id=line.encode("ascii", "backslashreplace").decode(),
            marks=[pytest.mark.xfail(strict=True, reason=defects[line])] if line in defects else [],
        )
        for line in lines(text)
    ]


def words(line: str) -> list[str]:
    """As a shell splits it."""
    found = shlex.split(line)
    for name, text in SURROUNDINGS.items():
        found = [word.replace(name, text) for word in found]
    return found


def check(line: str, code: object, out: str, err: str) -> None:
    """A documented code, no traceback, and after bad input an error with a next step."""
    assert code in CODES, f"{line}: exit code {code}\n{err[-2000:]}"
    assert "Traceback (most recent call last)" not in out + err, f"{line}\n{err[-2000:]}"
    if code == 2:
        assert ERROR.search(err), f"{line}: no error line\n{err[-2000:]}"
        assert NEXT.search(err), f"{line}: no next step\n{err[-2000:]}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that are there, and files that are not what they should be."""
    place = tmp_path_factory.mktemp("sloppy")
    good = (ROOT / "results" / "h200" / "repeat-1.json").read_text()
    document = json.loads(good)
    texts = {
        "result.json": good,
        "other.json": (ROOT / "results" / "h200" / "repeat-2.json").read_text(),
        "article.md": (ROOT / "examples" / "article.md").read_text(),
        "page.html": "<html><body><p>no result</p></body></html>",
        "zero.html": "<table><tr><td>",
        "empty.json": "", "empty.md": "", "empty.csv": "", "empty.py": "",
        "list.json": "[1, 2]", "number.json": "3", "nan.json": '{"schema": NaN}',
        "cut.json": good[: len(good) // 2],
        "future.json": json.dumps({**document, "schema": 99}),
        "deep.json": "[" * 100_000,
        "bom.json": "\ufeff" + good,
        "bom.md": "\ufeff# A\n\nThe RTX 4090 has 24 GB.\n",
        "table.csv": "m,n,k,h100_sxm\n4096,4096,4096,0.21\n",
        "ragged.csv": "a,b\n1\n1,2,3,4\n\"open\n",
        "wide.csv": ",".join(["x"] * 20_000) + "\n",
        "bad-prices.csv": "gpu,amount,kind,count,seen_on,provider\nRTX 4090,cheap,new,many,yesterday,shop\n",
        "syntax.py": "def (:\n",
        "raises.py": "raise RuntimeError('no')\n",
        "exits.py": "import sys\nsys.exit(7)\n",
        "my_model.py": "from gpuwise.workloads import workload\n",
        "fake.zip": "no archive", "empty.zip": "", "fake.csv.gz": "no archive",
    }  # fmt: skip
    for name, text in texts.items():
        (place / name).write_text(text, encoding="utf-8")
    for name in ("binary.json", "binary.md", "binary.csv", "binary.py"):
        (place / name).write_bytes(bytes(range(256)) * 40)
    (place / "latin1.json").write_bytes(good.replace("gpuwise", "gpuwisé").encode("latin-1", "replace"))
    (place / "latin1.md").write_bytes(
        "# Café\n\nThe RTX 4090 draws 450 W, about 5 °C more.\n".encode("latin-1")
    )
    for name in ("folder", "folder.json", "broken-home/results"):
        (place / name).mkdir(parents=True)
    (place / "broken-home" / "results" / "20261121-000000-h200-0000.json").write_bytes(bytes(range(256)))
    (place / "dangling.json").symlink_to(place / "nowhere.json")
    return place


@pytest.fixture(autouse=True)
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In that folder, where a relative path to this code would no longer hold."""
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    monkeypatch.chdir(folder)


def called(line: str, encoding: str = "utf-8") -> tuple[object, str, str]:
    """Exit code and what was written, with streams as a process has them."""
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="backslashreplace", write_through=True)
    code: object = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        try:
            run(words(line))
        except SystemExit as leave:
            code = leave.code or 0
    return code, written(out), written(err)


def written(stream: io.TextIOWrapper) -> str:
    """What a stream has; one that was closed on purpose has nothing more to say."""
    if stream.closed:
        return ""
    return stream.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]


def environment(**more: str) -> dict[str, str]:
    """The same code in another working directory."""
    path = os.environ.get("PYTHONPATH", "")
    found = [str((STARTED / part).resolve()) for part in path.split(os.pathsep) if part]
    # What cannot be written is kept until the end, as people have it.
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**usual, "PYTHONPATH": os.pathsep.join(found), **more}


def shell(tmp_path: Path) -> dict[str, str]:
    """An environment in which `gpuwise` is this code and tells its exit code in $CODE."""
    command = tmp_path / "bin" / "gpuwise"
    command.parent.mkdir()
    python = shlex.quote(sys.executable)
    command.write_text(f'#!/bin/sh\n{python} -m gpuwise "$@"\ncode=$?\necho $code > "$CODE"\nexit $code\n')
    command.chmod(0o755)
    return environment(PATH=f"{command.parent}:{os.environ['PATH']}", CODE=str(tmp_path / "code"))


@pytest.mark.timeout(30)
@pytest.mark.parametrize("line", params("\n".join(CALLS.values())))
def test_a_sloppy_call_ends_well(line: str) -> None:
    check(line, *called(line))


@pytest.mark.timeout(30)
@pytest.mark.parametrize("line", params(ASCII))
def test_where_the_output_has_ascii_alone(line: str) -> None:
    check(line, *called(line, "ascii"))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("line", params(SHELL))
def test_in_a_shell(line: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", line], env=shell(tmp_path), capture_output=True, text=True, errors="replace",
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    code = int((tmp_path / "code").read_text())
    assert "Exception ignored" not in done.stderr, done.stderr
    quiet = "2>" in line  # nobody can read what is wrong
    check(line, code if not (quiet and code == 2) else 0, "", done.stderr)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("line", params(NARROW))
def test_on_a_terminal_of_60_columns(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    done = subprocess.Popen(
        [sys.executable, "-m", "gpuwise", *words(line)],
        stdin=theirs, stdout=theirs, stderr=theirs, env=environment(TERM="xterm", COLUMNS="60"),
    )  # fmt: skip
    os.close(theirs)
    text = b""
    while True:
        try:
            some = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not some:
            break
        text += some
    os.close(ours)
    check(line, done.wait(), text.decode(errors="replace"), text.decode(errors="replace"))
