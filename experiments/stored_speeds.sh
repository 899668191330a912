#!/bin/bash
# The speeds that the house's figures name, once more beside the stored ones of results/h200, and how long the short
# commands take: one call of ten minutes on one H200.
#
#     bash experiments/stored_speeds.sh FOLDER [SECONDS]    results as FOLDER/*.json, logs beside them
#
# In the repository with torch installed; SECONDS (580) is when no further step is begun.
. "$(dirname "$0")/steps.sh"

step bert-large 120 bench bert-large --mode train --precision bf16 --compile on --batch 256 --recipe tuned --time 6s \
    -o "$out/bert-large.json"
step llm-8b-decode 90 bench llm-8b-decode --mode infer --precision bf16 --compile on --batch 8 --time 4s \
    -o "$out/llm-8b-decode.json"
step quick 90 bench --quick -o "$out/quick.json"
step accept 120 accept -o "$out/accept.zip"
step stock-resnet50 150 bench resnet50 --mode train --precision fp16 --compile on --batch 1024 --recipe stock \
    --switch compiler=default --time 6s \
    -o "$out/stock-resnet50.json"
step resnet50 580 bench resnet50 --mode train --precision fp16 --compile on --batch 2048 --recipe tuned --time 6s \
    -o "$out/resnet50.json"
cat "$out/steps.txt"
exit 0
