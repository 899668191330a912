"""One `gpuwise bench` on many machines: the scripts and manifests that start it, and one result of its files.

Slurm: a batch script of one task a machine; each starts a rank per GPU through torchrun's rendezvous. Slurm's
own variables say which machine is which, so no library is needed in the job or here.
Kubernetes: an indexed Job of one pod a machine, and the headless service by which they meet; pod N has the
stable name JOB-N.SERVICE, so pod 0 is the meeting place.
Reference: https://slurm.schedmd.com/sbatch.html, https://pytorch.org/docs/stable/elastic/run.html,
https://kubernetes.io/docs/tasks/job/job-with-pod-to-pod-communication/

Racks: one command on each host of a list at once, by ssh, srun or kubectl; its file comes back over the same
connection. A host that does not answer is named and keeps nobody waiting longer than its limit.

Every machine times the same common steps by rank 0's clock and knows all ranks; what it alone knows are
its own sensors. So the first machine's file is kept, and the others fill in the telemetry of their GPUs.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import subprocess
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any, Literal

from gpuwise import store
from gpuwise.errors import InputError, MachineError, RunError
from gpuwise.measure.telemetry.sensor import combined
from gpuwise.model.result import Issue, Result
from gpuwise.model.units import parse_seconds, visible

# Bytes of a list of hosts.
LARGEST_LIST = 2**20
# torchrun's own for its c10d rendezvous.
PORT = 29400
MANIFEST = Path(__file__).with_name("kubernetes.json")
SCRIPT = Path(__file__).with_name("slurm.sh")
JOB_OPTIONS = ("--nodes", "--rdzv", "--node-rank", "-o", "--output")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterJob:
    """`nodes` machines of `gpus_per_node` GPUs each; `arguments` are those of `gpuwise bench`."""

    nodes: int
    gpus_per_node: int
    arguments: tuple[str, ...]
    name: str = "gpuwise"
    time: str = "01:00:00"  # Longest time, HH:MM:SS
    folder: str = "."  # Where every machine puts its result; all of them must see it
    port: int = PORT

    def command(self, *, host: str, rank: str, output: str) -> str:
        """The line for one machine; the three are the shell's or the scheduler's words for what differs."""
        given = any(word == "--gpus" or word.startswith("--gpus=") for word in self.arguments)
        counts = () if given else ("--gpus", str(self.gpus_per_node))
        words = ["gpuwise", "bench", *self.arguments, *counts]
        meeting = f' --nodes {self.nodes} --rdzv "{host}:{self.port}" --node-rank "{rank}"'
        meeting *= self.nodes > 1
        return f'{shlex.join(words)}{meeting} --output "{output}"'


# What the script says itself; each has an option of `launch`, but for one task a machine.
SET_OF_SBATCH = frozenset((
    "--job-name", "-J", "--nodes", "-N", "--ntasks-per-node", "--gpus-per-node", "--time", "-t",
    "--output", "-o",
))  # fmt: skip


def check(job: ClusterJob) -> None:
    """Raise InputError where the arguments say what the job itself decides."""
    taken = [word for word in job.arguments if word.split("=")[0] in JOB_OPTIONS]
    if taken:
        raise InputError(f"{', '.join(taken)}: the job sets this itself", hint="leave it out after the --")
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?", job.name):
        raise InputError(f"{job.name!r} is not a job name", hint="small letters, digits and -")


def clock(time: str) -> str:
    """A time as Slurm takes it, which may also be written as everywhere else, `2h30`."""
    if re.fullmatch(r"(\d+-)?\d{1,3}:\d\d:\d\d", time):
        return time
    whole = ceil(parse_seconds(time))
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def seconds(time: str) -> int:
    """`HH:MM:SS` or `D-HH:MM:SS` in seconds."""
    days, _, clock = time.rpartition("-")
    hours, minutes, rest = (int(part) for part in clock.split(":"))
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + rest


def arguments_of(words: Sequence[str]) -> tuple[str, ...]:
    """The words after `--`, with or without a leading `gpuwise bench`."""
    arguments = tuple(words)
    for word in ("gpuwise", "bench"):
        arguments = arguments[1:] if arguments[:1] == (word,) else arguments
    return arguments


def script(job: ClusterJob, options: tuple[str, ...] = ()) -> str:
    """The batch script; `options` are further ones of sbatch, such as `--partition=gpu`. Raises InputError
    for a word that is not an option."""
    for option in options:
        if not option.startswith("-") or "\n" in option:
            raise InputError(f"{option!r} is not an option of sbatch", hint="such as --partition=gpu")
        # The last of two would hold, and what is run goes by the first.
        if re.split(r"[= ]", option)[0] in SET_OF_SBATCH or option[:2] in SET_OF_SBATCH:
            hint = "use those of launch: --nodes, --gpus-per-node, --name, --time, --folder"
            raise InputError(f"{option}: the job sets this itself", hint=hint)
    stem = f"{job.folder}/{job.name}-$SLURM_JOB_ID"
    # All meet on the first machine, which the script calls `head`.
    line = job.command(host="$head", rank="$SLURM_NODEID", output=f"{stem}-$SLURM_NODEID.json")
    merge = f'gpuwise merge "{stem}"-*.json --output "{stem}.json"\n' if job.nodes > 1 else ""
    return SCRIPT.read_text(encoding="utf-8").format(
        name=job.name, nodes=job.nodes, gpus=job.gpus_per_node, time=job.time, merge=merge,
        log=shlex.quote(f"--output={job.folder}/%x-%j.log"),
        options="".join(f"#SBATCH {option}\n" for option in options),
        # In single quotes, so that the variables are expanded on each machine.
        line="'" + line.replace("'", "'\\''") + "'",
    )  # fmt: skip


def results(job: ClusterJob, number: str) -> str:
    """The file that holds all results when the job of that number has ended."""
    return f"{job.folder}/{job.name}-{number}{'-0' if job.nodes == 1 else ''}.json"


def submit(text: str, *, wait: bool) -> tuple[str, subprocess.Popen[str]]:
    """Submit the script by sbatch; the job's number, and sbatch itself, which to `wait` for the job ends with
    its exit code. The job keeps running when that process is ended.

    Raises MachineError where sbatch is not installed, RunError where it refuses.
    """
    if shutil.which("sbatch") is None:
        raise MachineError("there is no sbatch here", hint="print the script", code="dry-run")
    pipe, words = subprocess.PIPE, ["sbatch", "--parsable", *["--wait"] * wait]
    process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert process.stdin and process.stdout and process.stderr  # noqa: PT018  three pipes were asked for
    with suppress(BrokenPipeError):  # one that refuses has not read it
        process.stdin.write(text)
        process.stdin.close()
    number = process.stdout.readline().strip().partition(";")[0]
    if not number:
        with process:
            said = process.stderr.read().strip()
        raise RunError(f"sbatch refused: {said}", hint="look at the script", code="dry-run")
    return number, process


def manifest(job: ClusterJob, *, image: str, claim: str | None = None, push: str | None = None) -> str:
    """The manifest as JSON, which kubectl takes as it takes YAML. `image` has gpuwise and torch.

    Results go to the volume claim `claim`, which all pods mount, or each pod sends its own to the server
    `push`, with the token of the secret `gpuwise`. Raises InputError for neither, since they would end with
    their pods, and where the image is the empty text, as of an unset variable.
    """
    if not image.strip():
        raise InputError("the name of the image is empty", hint="such as registry/gpuwise")
    if claim and not job.folder.startswith("/"):
        raise InputError(
            f"{job.folder!r} is not a place in a pod", hint="a path from the root: --folder /results"
        )
    if claim and not re.fullmatch(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?", claim):
        raise InputError(
            f"{claim!r} is not the name of a volume claim", hint="small letters, digits, - and ."
        )
    if not claim and not push:
        problem = "results would be lost with their pods"
        raise InputError(problem, hint="name a volume claim, or a server that takes them", code="lost")
    output = f"{job.folder}/{job.name}-$JOB_COMPLETION_INDEX.json"
    line = job.command(host=f"{job.name}-0.{job.name}", rank="$JOB_COMPLETION_INDEX", output=output)
    if push:
        # Also what a failed measurement left; the pod ends as the measurement did, unless nothing arrived.
        sent = f'gpuwise push "{output}" --to {shlex.quote(push)}'
        line = f"mkdir -p {shlex.quote(job.folder)}; {line}; code=$?; {sent} && exit $code"
    document: dict[str, Any] = json.loads(MANIFEST.read_text(encoding="utf-8"))
    service, work = document["items"]
    pod = work["spec"]["template"]["spec"]
    (bench,) = pod["containers"]
    service["metadata"]["name"] = work["metadata"]["name"] = pod["subdomain"] = job.name
    service["spec"]["selector"]["job-name"] = job.name
    # A measurement with a gap is invalid, so nothing is started again: no backoff.
    work["spec"] |= {"completions": job.nodes, "parallelism": job.nodes}
    work["spec"]["activeDeadlineSeconds"] = seconds(job.time)
    bench |= {"image": image, "command": ["bash", "-c", line]}
    bench["resources"]["limits"]["nvidia.com/gpu"] = job.gpus_per_node
    if not push:
        del bench["env"]
    if claim:
        pod["volumes"].append({"name": "results", "persistentVolumeClaim": {"claimName": claim}})
        bench["volumeMounts"].append({"name": "results", "mountPath": job.folder})
    if job.nodes == 1:
        document["items"] = [work]
    return json.dumps(document, indent=2)


def merged(results: Sequence[Result]) -> Result:
    """The first machine's result with what the others add. Raises InputError where they are of two runs."""
    numbers = [_machine(result) for result in results]
    nodes = max(m.config.nodes for result in results for m in result.measurements)
    if sorted(numbers) != list(range(nodes)):
        listed = ", ".join(f"{result.id}: machine {n}" for result, n in zip(results, numbers, strict=True))
        problem = f"these are not the files of all machines of one session: {listed}"
        raise InputError(problem, hint="merge one file of each machine")
    head, *others = sorted(results, key=_machine)
    # Machines that are not like the first one.
    watched = ("device", "driver", "torch", "cuda", "power_limit_w", "variables")
    unlike = []
    for number, other in enumerate(others, start=1):
        changes = [change for change in head.environment.diff(other.environment) if change[0] in watched]
        if changes:
            listed = "; ".join(f"{name} {a} against {b}" for name, a, b in changes)
            detail = f"machine {number} differs from machine 0: {listed}"
            unlike.append(Issue.warning("mixed", detail, "measure on equal machines"))
    measurements = []
    for m in head.measurements:
        if m.config.nodes == 1:
            measurements.append(m)
            continue
        same = [o for result in others for o in result.measurements if o.config == m.config]
        steps = [window.step_s for window in m.windows]
        for one in same:
            if m.status == one.status == "ok" and [window.step_s for window in one.windows] != steps:
                problem = f"{m.config.key()} was timed in two sessions"
                raise InputError(problem, hint="merge the files of one session")
        if m.group is not None:
            groups = {one.group.node: one.group for one in same if one.group is not None}
            # Each rank as its own machine saw it.
            ranks = tuple(
                groups[rank.node].ranks[rank.rank] if rank.node in groups else rank for rank in m.group.ranks
            )
            cautions = dict.fromkeys((*m.cautions, *(c for one in same for c in one.cautions), *unlike))
            m = replace(
                m,
                group=replace(m.group, ranks=ranks),
                telemetry=combined([rank.telemetry for rank in ranks]),
                cautions=tuple(cautions),
            )
        measurements.append(m)
    return replace(head, measurements=tuple(measurements))


def _machine(result: Result) -> int:
    """The number of the machine that wrote a result."""
    for m in result.measurements:
        if m.config.nodes > 1 and m.group is not None:
            return m.group.node
    raise InputError(f"{result.id} was measured on one machine", hint="compare such files instead")


@dataclass(frozen=True, slots=True)
class Remote:
    """A host of a list, and how gpuwise is called there."""

    name: str  # As ssh takes it
    command: str = "gpuwise"


def read_hosts(path: Path) -> tuple[Remote, ...]:
    """Of a file with a host a line, and after it what runs gpuwise there where that is not `gpuwise`; `#`
    begins a comment.

    Raises InputError where there is none, one twice, or what ssh would take as an option.
    """
    text = store.decoded(store.read(path, largest=LARGEST_LIST), path.name)
    lines = [line.partition("#")[0].split(maxsplit=1) for line in text.splitlines()]
    hosts = [Remote(*(word.strip() for word in words)) for words in lines if words]
    names = [each.name for each in hosts]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if not hosts or twice or any(name.startswith("-") or "/" in name for name in names):
        problem = f"host {twice} is listed twice" if twice else "no hosts, or what is not the name of one"
        raise InputError(problem, hint="a line each: HOST, or HOST COMMAND that runs gpuwise there")
    return tuple(hosts)


Over = Literal["ssh", "slurm", "kubernetes"]
# What runs a script on a host: over ssh, as a step of the allocation that this runs in, in a pod.
REACH: dict[Over, tuple[str, ...]] = {
    "ssh": ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=30", "{}"),
    "slurm": ("srun", "--nodelist={}", "--nodes=1", "--ntasks=1", "--overlap", "bash", "-c"),
    "kubernetes": ("kubectl", "exec", "{}", "--", "bash", "-c"),
}


# What all GPUs of a rack do together, in MiB from latency to bandwidth.
COLLECTIVES = ("all-reduce,all-gather,reduce-scatter,all-to-all,send-receive", "--batch", "1,64,1024")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rack:
    """Hosts of a list, and how they are reached. Each method runs one command on all of them at once and
    returns what kept a host from answering, by its name; it raises MachineError where this machine has no
    ssh, srun or kubectl.
    """

    hosts: tuple[Remote, ...]
    folder: Path  # Where their answers go
    over: Over = "ssh"
    show: Callable[[str], object] = lambda line: None

    def accept(self, arguments: Sequence[str], limit_s: float) -> dict[str, str]:
        """Test each host by itself; bundles as FOLDER/HOST.zip. One that is there already is kept and its
        host not asked again: an interrupted rack is gone on with, also by a scheduler that starts the job
        again.
        """

        def keep(host: Remote, answer: bytes) -> bool:
            is_bundle = zipfile.is_zipfile(io.BytesIO(answer))
            if answer.startswith(b"PK") and not is_bundle:
                raise InputError("the bundle is damaged")
            if is_bundle:
                store.write(answer, self.folder / f"{host.name}.zip")
            return is_bundle

        left = [host for host in self.hosts if not (self.folder / f"{host.name}.zip").exists()]
        if kept := len(self.hosts) - len(left):
            self.show(
                f"{kept} of {len(self.hosts)} hosts are not asked again: their bundles are in {self.folder}"
            )
        words = f"accept {shlex.join(arguments)} -o bundle.zip"
        return self._run(left, lambda host: f"{host.command} {words}", "bundle.zip", keep, limit_s)

    def exchange(self, gpus: int, arguments: Sequence[str], limit_s: float) -> dict[str, str]:
        """Collectives over so many GPUs of each host, joined by torchrun's rendezvous on the first one; their
        common result as FOLDER/all-hosts.json.
        """
        head, address, results = self.hosts[0], "", {}

        def found(host: Remote, answer: bytes) -> bool:
            nonlocal address
            address = next(iter(answer.decode(errors="replace").split()), "")
            return re.fullmatch(r"[0-9a-f.:]+", address) is not None

        def keep(host: Remote, answer: bytes) -> bool:
            if answer:  # without one, what was said says why; a shell may greet before it
                results[host.name] = store.decode(answer[max(0, answer.find(b"{")) :], host.name)
            return bool(answer)

        # As the others reach it, whatever ssh calls it.
        if missing := self._run([head], lambda host: "(hostname -I > address)", "address", found, limit_s):
            return missing
        number = {host: str(place) for place, host in enumerate(self.hosts)}
        job = ClusterJob(nodes=len(number), gpus_per_node=gpus, arguments=(*COLLECTIVES, *arguments))

        def words(host: Remote) -> str:
            line = job.command(host=address, rank=number[host], output="all.json")
            return line.replace("gpuwise", host.command, 1)

        if missing := self._run(self.hosts, words, "all.json", keep, limit_s):
            return missing
        try:
            whole = merged(list(results.values()))
        except InputError as error:  # the cards are judged all the same
            return {head.name: str(error)}
        common = tuple(m for m in whole.measurements if m.config.nodes > 1)
        store.save(replace(whole, measurements=common), self.folder / "all-hosts.json")
        return {}

    def _run(
        self, hosts: Sequence[Remote], command: Callable[[Remote], str], answer: str,
        keep: Callable[[Remote, bytes], bool], limit_s: float,
    ) -> dict[str, str]:  # fmt: skip
        """Run a command on all hosts at once; `keep` gets the file that each wrote, and says if it is one."""
        program, *options = REACH[self.over]
        if shutil.which(program) is None:
            problem = f"there is no {program} here"
            raise MachineError(problem, hint="run the test on each host, and judge the bundles")
        begun = time.monotonic()

        def one(host: Remote) -> str:
            # What it says goes to standard error, so that standard output is the answer alone.
            words = f"{command(host)} >&2; cat {answer}"
            script = f'd=$(mktemp -d) && cd "$d" && {{ {words}; cd /; rm -rf "$d"; }}'
            call = [program, *(option.replace("{}", host.name) for option in options), script]
            try:
                done = subprocess.run(
                    call, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s, check=False
                )
                if keep(host, done.stdout):
                    return ""
            except subprocess.TimeoutExpired:
                return f"no verdict after {limit_s:.0f} s"
            except InputError as error:  # a full disk, or no result file: the others are judged
                return f"its answer could not be kept: {error}"
            said = done.stderr.decode(errors="replace").strip().splitlines()
            return visible(said[-1][:200]) if said else f"no answer came back (exit code {done.returncode})"

        missing: dict[str, str] = {}
        with ThreadPoolExecutor(max_workers=max(1, len(hosts))) as pool:
            host_of = {pool.submit(one, host): host.name for host in hosts}
            for number, each in enumerate(as_completed(host_of), start=1):
                name, why = host_of[each], each.result()
                missing |= {name: why} if why else {}
                said = f"no answer: {why}" if why else "answered"
                self.show(f"[{number}/{len(hosts)}] {name}: {said}, after {time.monotonic() - begun:.0f} s")
        return missing
