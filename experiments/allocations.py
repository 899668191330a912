"""What every operator of a zoo's row allocates on this machine's GPU, into OUT/allocations.jsonl.gz.

    python experiments/allocations.py OUT KEY [KEY ...]        a key as own:nerf:train:bf16:eager:b8

Rows are built and stepped as experiments/zoo.py does, in workers that compile side by side and take turns
at the GPU; `@FILE` reads keys from a file. Of a steady eager step: bytes that each operator found, most that
were there while it ran, and bytes that it left, with shapes and strides of its tensors. Of a compiled one:
every allocation and release in order, with the line of generated code. `--toy` runs tiny own networks on the
CPU, where nothing is counted.
"""

from __future__ import annotations

import argparse
import gzip
import json
import linecache
import multiprocessing
import os
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import zoo
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from zoo_networks import SEED, find, listing

STEADY = 3
CODE = "allocations-code"
FEW = 8
"""Of a list of tensors, which an optimiser has by the hundred."""


def row_of(key: str) -> zoo.Row:
    network, mode, precision, how, batch = key.rsplit(":", 4)
    compiled = how == "compiled"
    return zoo.Row(network=network, mode=mode, precision=precision, compiled=compiled, batch=int(batch[1:]))


def shape(value: Any) -> Any:
    """A tensor as [format, sizes, strides]; of lists each, of all else nothing but numbers."""
    if isinstance(value, Tensor):
        return [str(value.dtype).removeprefix("torch."), list(value.shape), list(value.stride())]
    if isinstance(value, list | tuple):
        return [shape(one) for one in value[:FEW]]
    return value if isinstance(value, int | float | bool) else None


class Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Writes down what each operator allocates."""

    def __init__(self, device: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.device, self.found = device, list[Any]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before = torch.cuda.memory_allocated() if self.device == "cuda" else 0
        zoo.memory(self.device)
        made = func(*args, **(kwargs or {}))
        peak = zoo.memory(self.device).get("allocated", 0)
        after = torch.cuda.memory_allocated() if self.device == "cuda" else 0
        if peak != before or "conv" in str(func):
            self.found.append([str(func), shape(args), shape(made), before, peak, after])
        return made


def history(step: Any, device: str) -> list[Any]:
    """Allocations and releases of a step: what, bytes, the line of code that asked."""
    if device != "cuda":
        step()
        return []
    torch.cuda.memory._record_memory_history("all", context="alloc", stacks="python")
    step()
    torch.cuda.synchronize()
    events = torch.cuda.memory._snapshot()["device_traces"][torch.cuda.current_device()]
    torch.cuda.memory._record_memory_history(None)
    found = []
    for event in events:
        frames = [frame for frame in event.get("frames", ()) if "torch" not in frame["filename"]] or [None]
        near = next((f for f in event.get("frames", ()) if CODE in f["filename"]), frames[0])
        line = linecache.getline(near["filename"], near["line"]).strip() if near else ""
        found.append([event["action"], event["size"], event.get("addr", 0), line[:160]])
    return found


def measured(row: zoo.Row, turn: zoo.Turn, device: str, *, toy: bool) -> dict[str, Any]:
    network = find(row.network, toy=toy)
    torch.manual_seed(SEED)
    model = network.make()
    turn.take()
    model.to(device)
    job = zoo.job_of(row, network, model, device)
    if row.compiled:
        turn.give()
    for _ in range(STEADY):
        job.step()
        turn.take()
    zoo.synchronise(device)
    zoo.memory(device)
    job.step()
    found: dict[str, Any] = {"key": row.key, "peak": zoo.memory(device)}
    found["start"] = torch.cuda.memory_allocated() if device == "cuda" else 0
    if row.compiled:
        found["events"] = history(job.step, device)
    else:
        with Watch(device) as watch:
            job.step()
        found["operators"] = watch.found
    return found


def serve(keys: Any, results: Any, lock: Path, device: str, *, toy: bool, compiling: bool) -> None:
    """A worker: rows until there is none."""
    torch.set_num_threads(4)
    turn = zoo.Turn(lock)
    if compiling:
        zoo.take_turns_when_compiled(turn)
    while (key := keys.get()) is not None:
        row = row_of(key)
        try:
            results.put(measured(row, turn, device, toy=toy))
        except Exception as error:  # noqa: BLE001  a library may raise anything for one of its networks
            results.put({"key": key, "error": zoo.told(error)})
        zoo.cleared(device)
        if compiling:
            torch.compiler.reset()
        turn.give()
    results.put(None)


def run(keys: Sequence[str], folder: Path, most_s: float, device: str, *, toy: bool) -> int:
    """All rows, or as many as end in time; how many were measured."""
    spawn = multiprocessing.get_context("spawn")
    lock, results, workers = Path(tempfile.gettempdir()) / "allocations.lock", spawn.Queue(), list[Any]()
    queues = (spawn.Queue(), spawn.Queue())  # kept until the workers have opened them
    for compiling, number in ((False, 2), (True, min(12, max(2, (os.cpu_count() or 2) - 4)))):
        queue: Any = queues[compiling]
        mine = [key for key in keys if (":compiled:" in key) == compiling]
        for key in (*mine, *(None,) * number):
            queue.put(key)
        for _ in range(number if mine else 0):
            how = {"toy": toy, "compiling": compiling}
            workers.append(spawn.Process(target=serve, args=(queue, results, lock, device), kwargs=how))
            workers[-1].start()
    ends_s, done, over = time.monotonic() + most_s, 0, 0
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.open(folder / "allocations.jsonl.gz", "wt", encoding="utf-8", compresslevel=5) as file:
        while over < len(workers) and (left_s := ends_s - time.monotonic()) > 0:
            try:
                found = results.get(timeout=left_s)
            except Exception:  # noqa: BLE001  the queue's own Empty: the time is over
                break
            over += found is None
            if found is not None:
                done += "error" not in found
                print(
                    f"{time.monotonic() - ends_s + most_s:6.1f} s",
                    found["key"],
                    found.get("error", ""),
                    flush=True,
                )
                print(json.dumps(found, separators=(",", ":")), file=file, flush=True)
    for worker in workers:
        worker.kill()
    return done


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        fromfile_prefix_chars="@",
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("keys", nargs="*")
    parser.add_argument("--time", type=float, default=180.0, help="seconds")
    parser.add_argument("--toy", action="store_true")
    asked = parser.parse_args()
    keys = list(asked.keys)
    if asked.toy:
        chance = random.Random(SEED)
        names = chance.sample(list(listing(toy=True)), 4)
        keys = keys or [f"{name}:train:bf16:{how}:b2" for name in names[:1] for how in ("eager", "compiled")]
    device = "cpu" if asked.toy else "cuda"
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / CODE)
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "2"
    done = run(keys, asked.folder, asked.time, device, toy=asked.toy)
    print(f"{done} of {len(keys)} rows")


if __name__ == "__main__":
    main()
