# For scripts of one call of a GPU, which source this: FOLDER for results and SECONDS when no further step is begun
# are their arguments. `step` runs one command of gpuwise within its limit and keeps how long it took.
set -u
out=${1:?a folder for results}
most=${2:-580}
mkdir -p "$out"
export PYTHONPATH=$PWD/src${PYTHONPATH:+:$PYTHONPATH} GPUWISE_HOME=$out/home
begun=$SECONDS

step() {  # NAME LIMIT WORDS...: one command of gpuwise, its wall time and exit code in steps.txt
    local name=$1 limit=$2 left=$((most - SECONDS + begun)) from=$SECONDS
    shift 2
    if ((left < 15)); then
        echo "$name: not begun" >> "$out/steps.txt"
        return
    fi
    timeout -s INT "$((limit < left ? limit : left))" python -m gpuwise "$@" > "$out/$name.log" 2>&1
    echo "$name: exit $? after $((SECONDS - from)) s: gpuwise $*" >> "$out/steps.txt"
}
