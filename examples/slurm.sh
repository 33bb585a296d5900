#!/bin/sh
# A simulation as a Slurm array: one part a task, merged by a second job when all parts are there.
#
#   examples/slurm.sh submit RESULT.json PARTS [option of equipoise simulate ..]
#
# The other two verbs are what the jobs themselves run. A part that failed can be run again alone
# (sbatch --array=I ..): parts are deterministic.
set -eu
verb=$1
result=$2
parts=$3
shift 3
dir="$result.parts"
case $verb in
submit)
    [ ! -e "$result" ] || { echo "slurm.sh: $result exists" >&2; exit 2; }
    rm -rf "$dir"
    mkdir -p "$dir"
    array=$(sbatch --parsable --job-name=equipoise --array="1-$parts" --cpus-per-task=1 --time=01:00:00 \
        --output="$dir/%a.log" "$0" part "$result" "$parts" "$@")
    sbatch --job-name=equipoise-merge --dependency="afterok:$array" --cpus-per-task=1 --time=00:05:00 \
        --output="$dir/merge.log" "$0" merge "$result" "$parts"
    ;;
part)
    equipoise simulate --threads 1 --shard "$SLURM_ARRAY_TASK_ID/$parts" --force \
        --json "$dir/$SLURM_ARRAY_TASK_ID.json" "$@"
    ;;
merge)
    equipoise merge "$dir"/*.json --json "$result"
    ;;
*)
    echo "slurm.sh: $verb: allowed submit, part, merge" >&2
    exit 2
    ;;
esac
