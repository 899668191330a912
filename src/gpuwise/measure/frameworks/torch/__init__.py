"""PyTorch behind the `Adapter`: the workloads of gpuwise and of the user, one process per GPU."""
