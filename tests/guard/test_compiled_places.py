"""Places in code of torch.compile whose lines Python has not looked up yet. No PyTorch is needed: a file's name says
that it is compiled code, and the lookup finds no graph of it.
"""

COMPILED = """
def compiled(name, call):
    names = {"call": call}
    exec(compile("def forward():\\n    call()", f"<eval_with_key>.{name}", "exec"), names)
    return names["forward"]
"""


def test_lines_are_told_apart_before_they_are_looked_up(run):
    # Each function is new, and the allocation does not wait for the lookup.
    done = run(
        COMPILED
        + """
first, second = compiled(1, torch.allocate), compiled(2, torch.allocate)
with tp.guard(alloc="log"):
    first()
    second()
"""
    )
    for line in (10, 11):
        assert f"at train.py:{line} in <module>()" in done.stderr, done.stderr


def test_a_daemon_thread_that_waits_to_look_lines_up_does_not_hold_up_pythons_end(run):
    # The copy asks the driver for 0.2 s without the GIL, then waits for the GIL, which the main thread keeps to its
    # end. What atexit calls last tells how long Python waited for the thread.
    done = run(
        COMPILED
        + """
import atexit, threading, time
atexit.register(lambda: print(time.monotonic() - ended, flush=True))
with tp.guard(h2d="log"):
    torch.upload(40, 0)
for _ in range(1000):
    pass  # Python promises to tell of its end
function = compiled(1, lambda: torch.upload(40, 0))
started = threading.Event()
def work():
    with tp.guard(h2d="log", pageable=100):
        torch.CUDART.fake_take(0, 200)
        started.set()
        function()
sys.setswitchinterval(60)
threading.Thread(target=work, daemon=True).start()
started.wait()
until = time.monotonic() + 0.5
while time.monotonic() < until:
    pass
ended = time.monotonic()
"""
    )
    assert float(done.stdout) < 0.8, done.stdout
