"""my_model.py: a perceptron on random data."""

from gpuwise.workloads import WorkloadSpec, workload


@workload(
    WorkloadSpec(
        id="perceptron",
        version=1,
        title="Perceptron, 3 layers of 4096",
        item="sample",
        modes=("train", "infer"),
        default_batch=1024,
        cpu_batch=16,
    )
)
def perceptron(config, batch):
    import torch
    from torch import nn

    from gpuwise.workloads.job import inference_job, set_precision, training_job

    set_precision(config)
    width = 64 if config.size == "toy" else 4096
    layers = [layer for _ in range(3) for layer in (nn.Linear(width, width), nn.ReLU())]
    model = nn.Sequential(*layers).to(config.device)
    x = torch.randn(batch, width, device=config.device)
    if config.mode == "infer":
        return inference_job(model, (x,), config, batch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    return training_job(model, (x,), lambda y: (y - x).square().mean(), optimizer, config, batch)
