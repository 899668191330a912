#!/bin/bash
# What is owed by a GPU and was verified on processors alone, in the order of its worth: one call, some ten
# minutes on one H200. Each step has a limit of its own, keeps what it has measured, and the next one runs
# whatever became of it.
#
#     bash experiments/next_gpu_call.sh FOLDER [SECONDS]    results as FOLDER/*.json, logs beside them
#
# In the repository with torch installed; SECONDS (580) is when no further step is begun.
. "$(dirname "$0")/steps.sh"

# 0. Batch norms by gpuwise's kernels, measured in short windows only (`results/experiments/norms.json`): the first
# norm of ResNet-50's gradients is 19.9. Then `tune ... --try pooling=triton,norms=triton` for the shipped recipes.
step resnet50-norms 130 bench resnet50 --mode train --precision fp16 --compile on --batch 2048 \
    --switch pooling=triton --switch norms=triton --time 10s -o "$out/resnet50-norms.json"
step resnet152-norms 170 bench resnet152 --mode train --precision fp16 --compile on --batch 512 \
    --switch pooling=triton --switch norms=triton --time 10s -o "$out/resnet152-norms.json"
# 1. The kernels of one row against torch on this GPU: compilation, logits, speed. No row may say "fallback".
timeout 120 python -m pytest -n0 -q tests/workloads/test_kernels.py -k "one_row or product or fused" \
    > "$out/kernels.log" 2>&1
echo "kernels: exit $? after $((SECONDS - begun)) s" >> "$out/steps.txt"
step llama-8b-decode-streamed 150 bench llama-3.1-8b-decode --precision bf16,fp8,int4,int8 --batch 1 \
    --switch decode=triton --time 6s -o "$out/llama-8b-decode-streamed.json"
# 2. A mixture of experts, whose step is the compiler's.
step qwen3-30b-decode 100 bench qwen3-30b-a3b-decode --precision bf16,int4 --batch 1 --time 6s \
    -o "$out/qwen3-30b-decode.json"
# 3. How long measuring takes: asked are 40 s, 90 s a card and 7 minutes.
step quick 60 bench --quick -o "$out/quick.json"
step accept 120 accept -o "$out/accept.zip"
step aime 440 bench --suite aime -o "$out/aime.json"
# 4. Several GPUs: products shared in training, and cards tested at the same time.
if python -c "import torch; raise SystemExit(torch.cuda.device_count() < 2)"; then
    step tensor-train 120 bench llama-3.2-1b-full --gpus 2 --scaling tensor --time 6s -o "$out/tensor-train.json"
fi
cat "$out/steps.txt"
grep -l fallback "$out"/*.json
exit 0
