#!/bin/sh
# A grid of scenarios on many cores or machines: one part of the scenarios a task.
#
#   examples/grid.sh parallel GRID.toml RESULT.csv PARTS     with GNU parallel (Debian: apt-get install parallel)
#   examples/grid.sh slurm GRID.toml RESULT.csv PARTS        as a Slurm array
#
# The result is, byte for byte, what `equipoise simulate --scenarios GRID.toml --csv RESULT.csv` writes. For other machines that
# share this directory and have equipoise in their path: export PARALLEL="--sshlogin host1,host2 --workdir $PWD". The verbs `part`
# and `join` are what the tasks run; a part that failed can be run again alone.
set -eu
verb=$1
grid=$2
result=$3
parts=$4
dir="$result.parts"
part() {
    equipoise simulate --scenarios "$grid" --threads 1 --shard "$1/$parts" --csv "$dir/$1.csv" --force >/dev/null
}
start() {
    [ ! -e "$result" ] || { echo "grid.sh: $result exists and is not overwritten" >&2; exit 1; }
    mkdir -p "$dir"
}
case $verb in
parallel)
    start
    seq "$parts" | parallel --halt now,fail=1 "$0" part "$grid" "$result" "$parts" "{}"
    "$0" join "$grid" "$result" "$parts"
    ;;
slurm)
    start
    array=$(sbatch --parsable --job-name=equipoise --array="1-$parts" --cpus-per-task=1 --time=01:00:00 \
        --output="$dir/%a.log" "$0" part "$grid" "$result" "$parts")
    sbatch --job-name=equipoise-join --dependency="afterok:$array" --cpus-per-task=1 --time=00:05:00 \
        --output="$dir/join.log" "$0" join "$grid" "$result" "$parts"
    ;;
part)
    part "${5:-$SLURM_ARRAY_TASK_ID}"
    ;;
join)
    for i in $(seq "$parts"); do
        if [ "$i" = 1 ]; then cat "$dir/$i.csv"; else tail -n +2 "$dir/$i.csv"; fi
    done >"$dir/all"
    ln "$dir/all" "$result"
    rm -r "$dir"
    ;;
*)
    echo "grid.sh: $verb: allowed parallel, slurm, part, join" >&2
    exit 2
    ;;
esac
