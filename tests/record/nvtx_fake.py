"""NVTX ranges of every kind around launches of the fake driver: nvtx_fake.py LIBCUDA. The last line is JSON: how many
launches were made in a range of their thread, in started ranges only, and in none."""
import ctypes
import json
import sys
import threading

cuda = ctypes.CDLL(sys.argv[1])
cuda.cuInit(0)
import nvtx_api  # noqa: E402   behind the driver, as frameworks do

STEPS = 50
plain, other = nvtx_api.Domain(), nvtx_api.Domain("other")
made = {"inside": 0, "started": 0, "outside": 0}
lock, no_range = threading.Lock(), threading.Event()
names = {}  # the driver keeps pointers, also behind the interpreter's end
strdup = ctypes.CDLL(None).strdup
strdup.restype = ctypes.c_void_p


def launch(where, name):
    with lock:
        if name not in names:
            names[name] = ctypes.c_void_p(strdup(name.encode()))
    cuda.fake_launch(1, names[name])
    with lock:
        made[where] += 1


def worker(number):
    for _ in range(STEPS):
        plain.push("worker")
        launch("inside", "in worker")
        plain.pop()
        plain.pop()  # one too many: nothing of another thread is closed
    no_range.wait()  # else it may seem to be done for the main thread, inside whose range it falls
    launch("outside", "behind worker")
    plain.end(number)


launch("outside", "before")
crossing = plain.start("crossing")
thread = threading.Thread(target=worker, args=(crossing,))
thread.start()
for i in range(STEPS):
    plain.push(f"step {i}")
    plain.push("forward")
    plain.push("layer")
    launch("inside", "in layer")
    plain.pop()
    other.push("chosen")
    launch("inside", "in other domain")
    plain.pop()  # forward; the other domain's range stays
    launch("inside", "still in other domain")
    other.pop()
    other.pop()  # nothing of this domain is open
    launch("inside", "in step")
    plain.pop()
no_range.set()
thread.join()
one, two = plain.start("one"), plain.start("two")
launch("started", "in two")
plain.end(two)
launch("started", "in one")
plain.end(one)
launch("outside", "after")
plain.push("left open")
launch("inside", "in left open")
print(json.dumps(made), flush=True)
