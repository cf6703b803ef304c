#!/bin/bash
# The recorder on a machine with an NVIDIA GPU: builds it there (gcc, nvcc), records what ./h200_workloads holds
# and tests/record/*, measures the overhead, and leaves results and run directories under $OUT.
# usage: OUT=DIR tests/record/h200.sh      STEPS=200; about 7 minutes
# With build/release/assay that runs there `assay record` is used; otherwise the variables it would set.
set -u
cd "$(dirname "$0")/../.."
OUT=${OUT:-/tmp/h200-out}
mkdir -p "$OUT"
RUNS=$(mktemp -d)
LIB=$PWD/build/h200/libassay_cuda.so
RESULTS=$OUT/results.txt
STEPS=${STEPS:-200}
export PYTHONUNBUFFERED=1
: >"$RESULTS"
say() { echo "$*" | tee -a "$RESULTS"; }
show() { tee -a "$RESULTS"; }

say "== machine"
{ nvidia-smi --query-gpu=name,driver_version --format=csv,noheader; gcc --version | head -1; nvcc --version | tail -1
  python3 -c 'import torch; print("torch", torch.__version__, torch.version.cuda)'
  python3 -c 'import jax; print("jax", jax.__version__)'
  t=$(python3 -c 'import torch, os; print(os.path.dirname(torch.__file__))'); readelf -d "$t/lib/libtorch_cpu.so" | grep -i cupti
  python3 -c 'import glob, site; [print(p) for d in site.getsitepackages() for p in glob.glob(d + "/nvidia/**/libcupti.so*", recursive=True)]'
} 2>&1 | show

say "== build"
mkdir -p build/h200
gcc -std=c11 -D_DEFAULT_SOURCE -O2 -g1 -Wall -Wextra -fPIC -fvisibility=hidden -ftls-model=initial-exec -pthread -Iinclude -Isrc \
	-shared -Wl,-soname,libassay_cuda.so -Wl,-z,nodelete -Wl,-z,now -o "$LIB" \
	src/record/{rt,conf,strings}.c src/record/cuda*.c src/wire/*.c src/vendor/dl.c -ldl 2>&1 | show
nvcc -std=c++17 -O2 -o build/h200/graphs tests/record/graphs.cu -ldl 2>&1 | show
cuda=$(dirname "$(dirname "$(readlink -f "$(which nvcc)")")")
for inc in "$cuda/include" "$cuda/extras/CUPTI/include"; do
	[ -f "$inc/cupti.h" ] && gcc -std=c11 -D_DEFAULT_SOURCE -fsyntax-only -Isrc -isystem "$inc" -isystem "$cuda/include" \
		tests/record/abi_cupti.c && say "ok - declarations agree with $inc" && break
done
cp "$LIB" build/release/ 2>/dev/null
ASSAY=; ./build/release/assay --version >/dev/null 2>&1 && ASSAY=$PWD/build/release/assay
say "assay program: ${ASSAY:-not usable here, variables set by hand}"

# rec NAME OPTIONS... -- COMMAND...: OPTIONS are those of `assay record`; only --set and --all-api without the program
rec() {
	local name=$1 opts=() conf="" run
	shift
	while [ "$1" != -- ]; do opts+=("$1"); shift; done
	shift
	run=$RUNS/$name
	rm -rf "$run"
	if [ -n "$ASSAY" ]; then
		timeout 120 "$ASSAY" record -o "$run" "${opts[@]}" -- "$@"
		return
	fi
	mkdir -p "$run"
	for ((i = 0; i < ${#opts[@]}; i++)); do
		[ "${opts[$i]}" = --set ] && conf+=";${opts[$((i + 1))]}"
		[ "${opts[$i]}" = --all-api ] && conf+=";all_api=1"
	done
	ASSAY_RECORD="1;dir=$run$conf" CUDA_INJECTION64_PATH=$LIB NVTX_INJECTION64_PATH=$LIB timeout 120 "$@"
}
W=$PWD/h200_workloads
PY=python3

say "== graphs, four threads, one process"
rec graphs -- build/h200/graphs 100 >"$RUNS/graphs.out" 2>"$RUNS/graphs.err"; say "status $?"
cat "$RUNS/graphs.err" | show
$PY tests/record/compare.py "$RUNS/graphs" --expect "$RUNS/graphs.out" 2>&1 | show
rec graphs_whole --graph-nodes none -- build/h200/graphs 100 >/dev/null 2>&1; say "whole graphs: status $?"
$PY tests/record/compare.py "$RUNS/graphs_whole" 2>&1 | grep -E "kernel|lost|graph" | show

say "== torch_train.py without its profiler"
rec train -- $PY tests/record/no_profiler.py "$W/torch_train.py" "$RUNS/none.json" 2>&1 | tail -15 | show
$PY tests/record/compare.py "$RUNS/train" 2>&1 | show

say "== torch_train.py with its profiler, both at once"
rec train_both -- $PY "$W/torch_train.py" "$RUNS/train_both.json.gz" 2>&1 | tail -15 | show
$PY tests/record/compare.py "$RUNS/train_both" "$RUNS/train_both.json.gz" 2>&1 | show
$PY "$W/torch_train.py" "$RUNS/train_alone.json.gz" >/dev/null 2>&1
$PY - "$RUNS/train_both.json.gz" "$RUNS/train_alone.json.gz" <<'P' 2>&1 | show
import collections, gzip, json, sys
for f in sys.argv[1:]:
    c = collections.Counter(e.get("cat") for e in json.load(gzip.open(f))["traceEvents"])
    print("torch.profiler", f.split("/")[-1], {k: c[k] for k in ("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver", "cuda_sync")})
P

say "== overhead"
$PY bench/record/overhead.py 2>/dev/null | show
rec launch -- $PY "$W/launch_bound.py" "$STEPS" >/dev/null 2>&1
$PY tests/record/compare.py "$RUNS/launch" 2>&1 | show

say "== two processes"
mkdir -p "$RUNS/ddp_out"
rec ddp -- $PY tests/record/no_profiler.py "$W/torch_ddp.py" "$RUNS/ddp_out" 2>&1 | tail -12 | show
$PY tests/record/compare.py "$RUNS/ddp" 2>&1 | grep -vE "^    " | show

say "== jax, without and with its profiler"
rec jax -- $PY tests/record/no_profiler.py "$W/jax_profile.py" "$RUNS/jax_out" 2>&1 | tail -12 | show
$PY tests/record/compare.py "$RUNS/jax" 2>&1 | show
rec jax_both -- $PY "$W/jax_profile.py" "$RUNS/jax_out2" 2>&1 | tail -12 | show
$PY tests/record/compare.py "$RUNS/jax_both" 2>&1 | grep -vE "^    " | show

say "== kill -9 in the middle of launch_bound.py"
rec killed -- bash -c "exec $PY $W/launch_bound.py 100000" >/dev/null 2>"$RUNS/killed.err" &
sleep 12
victim=$(pgrep -nf "launch_bound.py 100000")
killed_at=$($PY -c 'import time; print(time.clock_gettime_ns(time.CLOCK_BOOTTIME))')
kill -9 "$victim"
wait
$PY tests/record/compare.py "$RUNS/killed" 2>&1 | grep -vE "^    " | show
$PY - "$RUNS/killed" "$killed_at" <<'P' 2>&1 | show
import glob, sys
sys.path.insert(0, "tests/record")
from capture import Capture
c = Capture(glob.glob(sys.argv[1] + "/*.asy")[0])
for kind in ("KERNEL", "API"):
    last = max(r["end"] for r in c.rows[kind])
    print(f"last {kind} ended {(int(sys.argv[2]) - last) / 1e6:.0f} ms before the kill")
P

cd "$RUNS" && for d in train graphs ddp jax; do
	[ -d $d ] && tar czf "$OUT/$d.tar.gz" $d
done
tar czf "$OUT/both.tar.gz" train_both train_both.json.gz train_alone.json.gz 2>/dev/null
ls -la "$OUT" | tee -a "$RESULTS"
rm -rf "$RUNS"
