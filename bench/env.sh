#!/bin/sh
# Medians of `assay env` beside what asks the same questions by importing torch.
# usage: bench/env.sh [BUILD-FOLDER] [PYTHON]; cold figures need the right to drop the page cache.
set -eu
assay=${1:-build/release}/assay
python=${2:-python3}
runs=${RUNS:-11}

# median of wall milliseconds over $runs runs of a command
median() {
	label=$1
	shift
	"$python" - "$runs" "$label" "$@" <<'PY'
import statistics, subprocess, sys, time
runs, label, cmd = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
times = []
for _ in range(runs):
    t = time.perf_counter()
    subprocess.run(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    times.append((time.perf_counter() - t) * 1e3)
print(f"{label:44s} {statistics.median(times):10.1f} ms   min {min(times):8.1f}  max {max(times):8.1f}")
PY
}

cache=$(mktemp -d)
export XDG_CACHE_HOME="$cache"
trap 'rm -rf "$cache"' EXIT
median "assay env --no-hash" "$assay" env --no-hash --python "$python" -o -
median "assay env, every library hashed anew" "$assay" env --no-cache --python "$python" -o -
median "assay env, digests remembered" "$assay" env --python "$python" -o -
if [ -w /proc/sys/vm/drop_caches ]; then
	runs=1
	for what in --no-hash --no-cache; do
		sync
		echo 3 > /proc/sys/vm/drop_caches
		median "assay env $what, cold page cache" "$assay" env $what --python "$python" -o -
	done
	runs=${RUNS:-11}
fi
if "$python" -c 'import torch' 2>/dev/null; then
	runs=3
	median "python -c 'import torch'" "$python" -c 'import torch'
	median "python -m torch.utils.collect_env" "$python" -m torch.utils.collect_env
else
	echo "torch is not installed for $python: nothing to compare with"
fi
