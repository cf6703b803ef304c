"""A program that launches work from every kind of Python code and writes down the stack that the interpreter itself
reports at each launch. usage: host_program.py WHAT OUT.json; needs only the standard library, 3.9 and newer."""
import asyncio
import ctypes
import functools
import gc
import json
import os
import random
import sys
import threading
import time

lib = ctypes.CDLL("libcuda.so.1")  # drops the GIL around a call
held = ctypes.PyDLL("libcuda.so.1")  # keeps it
if __name__ == "__main__":  # not in a worker that imports this
    lib.cuInit(0)
slowly = float(os.environ.get("SLOWLY", "1"))  # how much longer everything is to last that samples must see
expected = {}
names = []  # keeps the texts of launches alive
lock = threading.Lock()


def note(frame):
    """The name of the next launch; its stack, innermost call first, is remembered under it."""
    stack = []
    while frame is not None:
        code = frame.f_code
        stack.append([code.co_filename, getattr(code, "co_qualname", code.co_name), frame.f_lineno])
        frame = frame.f_back
    with lock:
        name = b"k%d" % len(expected)
        expected[name.decode()] = stack
        names.append(name)
    return name


def launch(api=lib):
    api.fake_launch(13, note(sys._getframe()))


def generator(n):
    for i in range(n):
        launch()
        yield i
        held.fake_launch(13, note(sys._getframe()))


async def coroutine(n):
    if n:
        await asyncio.sleep(0)
        await coroutine(n - 1)
    launch()


async def gathered():
    await asyncio.gather(*(coroutine(3) for _ in range(3)))


def decorated(f):
    @functools.wraps(f)
    def inner(*args, **more):
        return f(*args, **more)
    return inner


@decorated
def through_decorator():
    launch()


class Thing:
    @property
    def value(self):
        launch()
        return 1

    def __call__(self):
        launch(held)

    def __del__(self):
        launch()

    def __lt__(self, other):
        launch()
        return False


def exceptions():
    try:
        try:
            launch()
            raise ValueError("x")
        except ValueError:
            launch()
            raise KeyError("y")
        finally:
            launch()
    except KeyError:
        launch()


def deep(n):
    if n == 0:
        launch()
    else:
        deep(n - 1)


def many_lines():
    (launch
     ())


def kinds():
    for _ in range(3):
        for _ in generator(3):
            launch()
    asyncio.run(gathered())
    through_decorator()
    thing = Thing()
    thing.value
    thing()
    sorted([Thing(), Thing()])
    del thing
    exceptions()
    many_lines()
    [launch() for _ in range(2)]
    list(map(lambda _: launch(), range(2)))
    exec(compile("def naïve_名前():\n\n    launch()\nnaïve_名前()", "<made up ф>", "exec"), {"launch": launch})
    deep(20)
    functools.reduce(lambda a, b: launch() or b, range(3))


def recursion():
    sys.setrecursionlimit(5000)
    deep(900)
    deep(950)
    deep(3)


def reused():
    """Functions made and dropped, so that code objects follow each other at one address."""
    for i in range(400):
        space = {"launch": launch}
        exec(compile("\n" * (i % 7) + "def f%d():\n%s    launch()\nf%d()" % (i % 50, "\n" * (i % 3), i % 50), "<made %d>" % (i % 11), "exec"), space)
        del space
        if i % 20 == 0:
            gc.collect()


def shapes():
    """Stacks that share their outer calls, at the same addresses, but for the line or the function that one of them is at."""
    chance = random.Random(1)

    def one(ways):
        if not ways:
            launch()
        elif ways[0] == 0:
            one(ways[1:])
        elif ways[0] == 1:
            one(ways[1:])
        elif ways[0] == 2:
            other(ways[1:])
        else:
            for _ in step_by(ways[1:]):
                pass

    def other(ways):
        one(ways)
        launch()

    def step_by(ways):
        one(ways)
        yield
        launch()

    ways = [0] * 12
    for _ in range(300):
        ways[chance.randrange(len(ways))] = chance.randrange(4)
        one(ways[:chance.randrange(len(ways) + 1)])


def threads():
    def work(n):
        for _ in range(n):
            launch()
            deep(5)
    for round in range(6):
        pool = [threading.Thread(target=work, args=(5,)) for _ in range(8)]
        for t in pool:
            t.start()
        for t in pool:
            t.join()


def fork():
    launch()
    pid = os.fork()
    if pid == 0:
        launch()
        os._exit(0)
    os.waitpid(pid, 0)
    launch()


def many():
    """Launches from the same place: what one costs."""
    def module(n):
        if n:
            module(n - 1)
        else:
            for _ in range(20000):
                lib.fake_get_device()
                lib.fake_launch(13, b"same")
    module(30)


def daemon():
    """A thread that goes on launching while the interpreter is taken down."""
    def work():
        while True:
            lib.fake_launch(13, b"late")
    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(0.05)
    launch()


def small_stack():
    """The first launch, at which the interpreter is looked for, on a thread with hardly more stack than Python needs."""
    threading.stack_size(48 * 1024)
    t = threading.Thread(target=launch)
    t.start()
    t.join()


def churn():
    """Threads that come and go, with code made and dropped, forks and interpreters between, and daemons at the end."""
    try:
        import _xxsubinterpreters as subs
    except ImportError:
        import _interpreters as subs

    def calls(n):
        if n:
            calls(n - 1)
        else:
            lib.fake_launch(13, b"released")
            held.fake_launch(13, b"held")

    def work(i):
        for _ in range(3):
            calls(i % 40)
            exec(compile("def f():\n%s calls(3)\nf()" % ("\n" * (i % 9)), "<made %d>" % (i % 7), "exec"), {"calls": calls})
    threading.stack_size(256 * 1024)
    for first in range(0, 1000, 8):
        pool = [threading.Thread(target=work, args=(first + i,)) for i in range(8)]
        for t in pool:
            t.start()
        for t in pool:
            t.join()
        if first % 200 == 0:
            gc.collect()
            pid = os.fork()
            if pid == 0:
                lib.fake_launch(13, b"child")
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
            subs.destroy(subs.create())
    launch()
    daemon()


def greenlets():
    """Stacks that a library replaces under the interpreter."""
    import greenlet

    def run(n):
        for _ in range(n):
            launch()
            deep(4)
            main.switch()
    main = greenlet.getcurrent()
    lets = [greenlet.greenlet(run) for _ in range(3)]
    for _ in range(4):
        for g in lets:
            g.switch(4) if not g else g.switch()
            launch()


def events():
    """The same with an event loop that switches where the program sleeps, reads or waits."""
    import gevent
    from gevent import queue
    todo = queue.Queue()

    def run(n):
        for _ in range(n):
            launch()
            gevent.sleep(0.001)
            deep(4)
            todo.put(n)
            todo.get()
    gevent.joinall([gevent.spawn(run, 5) for _ in range(4)])
    launch()


def switching():
    """What the sampler looks at changes all the time: generators, coroutines and new frames, for a while without a launch."""
    def inner(n):
        yield from range(n)

    def outer():
        for i in range(50):
            yield from inner(i % 7)

    async def leaf(n):
        if n % 5 == 0:
            await asyncio.sleep(0)
        return n

    async def many():
        return sum([await leaf(n) for n in range(40)])
    launch()
    end = time.perf_counter() + 0.4 * slowly
    while time.perf_counter() < end:
        sum(outer())
        asyncio.run(many())
        spin(0.0001)
        exec(compile("def made():\n    return sum(range(200))\nmade()", "<made>", "exec"), {})
    launch()


def shortest():
    """One launch, and the end."""
    launch()


def second_interpreter():
    """Launches while another interpreter exists: no stack may be told, least of all a wrong one."""
    try:
        import _xxsubinterpreters as subs
    except ImportError:
        import _interpreters as subs
    launch()
    other = subs.create()
    for _ in range(3):
        lib.fake_launch(13, b"two")
    subs.destroy(other)
    launch()


def compiled_before_3_11():
    """Frames as Nuitka makes them: they call, and have not begun. Here one that is asked from below, for it goes on by itself."""
    def below(api, frame):
        ctypes.memset(id(frame) + (96 if sys.version_info >= (3, 10) else 104), 0xff, 4)
        api.fake_launch(13, note(sys._getframe()))
        expected[names[-1].decode()][1][2] = 0
    for api in (lib, held):
        below(api, sys._getframe())


def compiled():
    """A frame as Nuitka makes it: a generator's, if one believes its mark, and its code is none's. Nobody knows its line."""
    if sys.version_info < (3, 11):
        return compiled_before_3_11()
    frame = sys._getframe()
    owner = int.from_bytes(ctypes.string_at(id(frame) + 24, 8), "little") + (70 if sys.version_info < (3, 14) else 74)
    before = ctypes.string_at(owner, 1)
    for api in (lib, held):
        name = note(frame)
        expected[name.decode()][0][2] = 0
        ctypes.memset(owner, 1, 1)
        api.fake_launch(13, name)
        ctypes.memset(owner, before[0], 1)


def former_interpreter():
    """The first launch after another interpreter came and went, without the GIL."""
    try:
        import _xxsubinterpreters as subs
    except ImportError:
        import _interpreters as subs
    subs.destroy(subs.create())
    launch()
    threads()


# ---- what a thread does between launches ----

def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def natives():
    """Inside a library, blocked and computing, with the interpreter's lock and without it."""
    path = os.environ["NATIVE_LIBRARY"]
    free, keeps = ctypes.CDLL(path), ctypes.PyDLL(path)
    for api in (free, keeps):
        for f in (api.call_sleep, api.call_read, api.call_spin):
            f.argtypes, f.restype = [ctypes.c_double], None
    r, w = os.pipe()
    launch()
    free.call_sleep(0.08 * slowly)  # native sleep
    launch()
    free.call_spin(0.15 * slowly)  # native spin
    launch()
    keeps.call_spin(0.15 * slowly)  # native spin with the lock
    launch()
    with open("/proc/self/maps") as maps, open(sys.argv[2] + ".rings", "w") as f:
        f.write(str(sum("perf_event" in line for line in maps)))
    threading.Timer(0.08 * slowly, os.write, (w, b"x")).start()
    free.call_read(r)  # native read
    launch()


def returns():
    """From calls that take long to work that no call tells of."""
    launch()
    for _ in range(int(8 * slowly)):
        lib.fake_stream_sync_for(13, 120000)
        spin(0.03)  # behind a long call
    launch()


def waits():
    launch()
    time.sleep(0.06 * slowly)  # sleep
    launch()
    spin(0.06 * slowly)  # compute
    launch()
    r, w = os.pipe()
    threading.Timer(0.06 * slowly, os.write, (w, b"x")).start()
    os.read(r, 1)  # pipe
    launch()
    event = threading.Event()

    def producer():
        time.sleep(0.06 * slowly)  # produce
        event.set()
    t = threading.Thread(target=producer)
    t.start()
    event.wait()  # lock
    t.join()
    launch()
    trash = [[] for _ in range(200000)]
    for x in trash:
        x.append(x)
    for _ in range(int(8 * slowly)):
        gc.collect()  # collect
    launch()
    stop = []

    def hog():
        while not stop:
            for _ in range(1000):
                pass  # hog
    t = threading.Thread(target=hog)
    t.start()
    end = time.perf_counter() + 0.12 * slowly
    while time.perf_counter() < end:
        time.sleep(0)  # wants the GIL
    stop.append(1)
    t.join()
    launch()


async def batches():
    launch()
    await asyncio.sleep(0.06 * slowly)
    lib.fake_launch(13, note(sys._getframe()))  # when time is up
    received = asyncio.get_running_loop().create_future()
    threading.Timer(0.06 * slowly, received.get_loop().call_soon_threadsafe, (received.set_result, 1)).start()
    await asyncio.wait_for(received, 600)
    lib.fake_launch(13, note(sys._getframe()))  # when something came


def event_loop():
    """A loop that waits until time is up, and until something comes."""
    asyncio.run(batches())


def workers():
    """A child that works while the parent waits for it."""
    launch()
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        spin(0.15 * slowly)  # in the worker
        os.write(w, b"x")
        os._exit(0)
    os.read(r, 1)  # for the worker
    os.waitpid(pid, 0)
    launch()


def forbidden():
    """The same, but all threads are killed from now on for calls of the system that the variable names."""
    import struct
    calls = [int(c) for c in os.environ["FORBIDDEN"].split()]
    code = struct.pack("HBBI", 0x20, 0, 0, 0)  # the number of the call
    for i, call in enumerate(calls):
        code += struct.pack("HBBI", 0x15, len(calls) - i, 0, call)
    code += struct.pack("HBBI", 0x06, 0, 0, 0x7fff0000) + struct.pack("HBBI", 0x06, 0, 0, 0x80000000)  # allow, kill
    kept = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(kept)))
    libc, seccomp = ctypes.CDLL(None, use_errno=True), 317 if os.uname().machine == "x86_64" else 277
    launch()
    if libc.prctl(38, 1, 0, 0, 0) or libc.syscall(seccomp, 1, 1, program):
        raise OSError(ctypes.get_errno())
    workers()


# ---- where a thread stands while another profiler looks at it ----

def stand(place):
    """A launch, then blocked until somebody has looked."""
    launch()
    sys.stdout.write("%s %d %d\n" % (place, os.getpid(), threading.get_native_id()))
    sys.stdout.flush()
    os.read(0, 1)


def stand_in_generator(place):
    def inner():
        stand(place)
        yield 1

    def outer():
        yield from (x for x in inner())
    return list(outer())


def stand_in_coroutine(place):
    async def inner():
        stand(place)

    async def outer():
        async for _ in steps():
            await asyncio.gather(inner())

    async def steps():
        yield 1
    asyncio.run(outer())


def stand_in_c(place):
    import re
    callback = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: stand(place) or 0)
    re.sub("x", lambda m: str(sorted([2, 1], key=lambda v: callback() if v == 1 else v)), "x")


def stand_in_class(place):
    class Meta(type):
        def __new__(mcs, name, bases, space):
            return super().__new__(mcs, name, bases, {**space, "value": property(lambda self: stand(place))})

    class Made(metaclass=Meta):
        def __getattr__(self, name):
            return self.value

        def __enter__(self):
            return self

        def __exit__(self, *what):
            self.missing
    with Made():
        pass


def stand_in_end(place):
    class Ends:
        def __del__(self):
            try:
                raise ValueError
            except ValueError:
                stand(place)
    thing = Ends()
    del thing


def stand_in_text(place):
    exec(compile("def f(n):\n    if n: return [f(n - 1) for _ in (1,)]\n\n    stand(place)\nf(5)", "<text>", "exec"), {"stand": stand, "place": place})


def stand_deep(place, left=150):
    return stand_deep(place, left - 1) if left else functools.reduce(lambda a, b: stand(place), (1, 2))


def stand_in_thread(place):
    t = threading.Thread(target=decorated(stand), args=(place,))
    t.start()
    t.join()


def stands():
    for place in (stand, stand_in_generator, stand_in_coroutine, stand_in_c, stand_in_class, stand_in_end, stand_in_text, stand_deep, stand_in_thread):
        place(place.__name__)
    launch()


def in_worker(seconds):
    spin(seconds)


def started_workers():
    """Workers that are started as programs, or forked by a server that was: not by this process."""
    import multiprocessing
    launch()
    for method in ("spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        p = context.Process(target=in_worker, args=(0.8 * slowly,))
        p.start()
        p.join()  # for the started worker
        launch()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    with open(sys.argv[2], "w") as f:
        json.dump(expected, f)
