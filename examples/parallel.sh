#!/bin/sh
# A simulation on all cores of several machines with GNU parallel (Debian: apt-get install parallel).
#
#   examples/parallel.sh RESULT.json PARTS [option of equipoise simulate ..]
#
# Parts are deterministic and merge into the bytes that a single process would have written. For other machines that
# share this directory and have equipoise in their path: export PARALLEL="--sshlogin host1,host2 --workdir $PWD".
set -eu
result=$1
parts=$2
shift 2
dir="$result.parts"
[ ! -e "$result" ] || { echo "parallel.sh: $result exists" >&2; exit 2; }
rm -rf "$dir"
mkdir -p "$dir"
seq "$parts" | parallel --eta --halt now,fail=1 \
    equipoise simulate --threads 1 --shard "{}/$parts" --json "$dir/{}.json" "$@" '>' /dev/null
equipoise merge "$dir"/*.json --json "$result"
