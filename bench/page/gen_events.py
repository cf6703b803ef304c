#!/usr/bin/env python3
"""A trace of many events with lengths drawn by chance, which packs about as well as a real run.
usage: gen_events.py OUT EVENTS"""
import random
import sys


def write_events(path, events):
    """Operators, launches and kernels on one thread and three streams."""
    rng, t, gpu, calls = random.Random(1), 0, 0, events // 3
    with open(path, "w") as f:
        f.write('{"traceEvents": [\n')
        for i in range(calls):
            t += rng.randrange(500, 4000)
            length = rng.randrange(2000, 9000)
            gpu = max(gpu, t + 3000) + rng.randrange(0, 1500)
            work = rng.randrange(900, 60000) if i % 9 else 150000
            f.write(
                f'{{"ph":"X","cat":"cpu_op","name":"aten::op_{i % 70}","pid":1,"tid":1,"ts":{t / 1000:.3f},"dur":{length / 1000:.3f}}},\n'
                f'{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{(t + 400) / 1000:.3f},'
                f'"dur":{rng.randrange(900, 1500) / 1000:.3f},"args":{{"correlation":{i + 1}}}}},\n'
                f'{{"ph":"X","cat":"kernel","name":"void gemm_kernel<{i % 40}>()","pid":0,"tid":{7 + i % 3},"ts":{gpu / 1000:.3f},'
                f'"dur":{work / 1000:.3f},"args":{{"correlation":{i + 1},"stream":{7 + i % 3},"device":0,"grid":[{i % 512 + 1},1,1],"block":[256,1,1]}}}}'
                + (",\n" if i + 1 < calls else "\n"))
            gpu += work if i % 3 == 0 else 0
            t += length
        f.write("]}\n")


if __name__ == "__main__":
    write_events(sys.argv[1], int(sys.argv[2]))
