#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --nodes={nodes}
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node={gpus}
#SBATCH --exclusive
#SBATCH --time={time}
#SBATCH {log}
{options}set -euo pipefail
export head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
code=0
srun --kill-on-bad-exit=1 bash -c {line} || code=$?
{merge}exit $code
