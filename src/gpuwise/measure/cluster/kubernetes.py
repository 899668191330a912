"""A Kubernetes manifest: an indexed Job of one pod a machine, and the headless service by which they meet.

Pod N of an indexed Job has the stable name JOB-N.SERVICE, so pod 0 is the meeting place.
Reference: https://kubernetes.io/docs/tasks/job/job-with-pod-to-pod-communication/
"""

from __future__ import annotations

import json
from typing import Any

from gpuwise.errors import InputError
from gpuwise.measure.cluster.job import Job, seconds


def manifest(job: Job, *, image: str, claim: str | None = None) -> str:
    """The manifest as JSON, which kubectl takes as it takes YAML. `image` has gpuwise and torch.

    Results go to the volume claim `claim`, which all pods mount; without one they end with their pod,
    and its log is what remains. Raises InputError where the image is the empty text, as of an unset variable.
    """
    if not image.strip():
        raise InputError("an image has a name", hint="gpuwise launch kubernetes --image registry/gpuwise")
    items = [_service(job)] if job.nodes > 1 else []
    return json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": [*items, _job(job, image, claim)]}, indent=2
    )


def _service(job: Job) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": job.name},
        "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {"job-name": job.name}},
    }


def _job(job: Job, image: str, claim: str | None) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": job.name},
        "spec": {
            "completions": job.nodes,
            "parallelism": job.nodes,
            "completionMode": "Indexed",
            # A measurement with a gap is none, so nothing is started again.
            "backoffLimit": 0,
            "activeDeadlineSeconds": seconds(job.time),
            "template": {"spec": _pod(job, image, claim)},
        },
    }


def _pod(job: Job, image: str, claim: str | None) -> dict[str, Any]:
    line = job.command(
        host=f"{job.name}-0.{job.name}",
        rank="$JOB_COMPLETION_INDEX",
        output=f"{job.folder}/{job.name}-$JOB_COMPLETION_INDEX.json",
    )
    shared: list[tuple[str, str, dict[str, Any]]] = [("shm", "/dev/shm", {"emptyDir": {"medium": "Memory"}})]
    if claim is not None:
        shared.append(("results", job.folder, {"persistentVolumeClaim": {"claimName": claim}}))
    return {
        "restartPolicy": "Never",
        "subdomain": job.name,
        "containers": [
            {
                "name": "bench",
                "image": image,
                "command": ["bash", "-c", line],
                "resources": {"limits": {"nvidia.com/gpu": job.gpus_per_node}},
                "volumeMounts": [{"name": name, "mountPath": path} for name, path, _ in shared],
            }
        ],
        "volumes": [{"name": name, **source} for name, _, source in shared],
    }
