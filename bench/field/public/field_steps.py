"""Runs inside a public program: notes when each of its steps begins, and ends the program after enough of them.

`hook.py` puts a line before the first statement of the loop in the program's scratch copy:

    __import__("field_steps").step()

The program starts, takes FIELD_READY_STEPS steps, makes the file FIELD_READY, and waits for the file FIELD_GO: so
several programs start together and are then measured one after the other. Then it warms up, until what its loader has
ready is used up, and the window begins. At the end of the window the times go to FIELD_OUT, and SystemExit ends the
program. Without FIELD_OUT nothing happens. `processes.py` sets these variables and reads the times.

The module is alone in its folder on PYTHONPATH, and imports only what each Python has.
"""

import atexit
import json
import multiprocessing
import os
import threading
import time
from typing import Any

OUT = os.environ.get("FIELD_OUT", "")
READY, GO = os.environ.get("FIELD_READY", ""), os.environ.get("FIELD_GO", "")
LAUNCHED = float(os.environ.get("FIELD_LAUNCHED", "0"))  # by time.time()
READY_STEPS = int(os.environ.get("FIELD_READY_STEPS", "4"))
WARM_STEPS = int(os.environ.get("FIELD_WARM_STEPS", "5"))  # at least
WARM_S = float(os.environ.get("FIELD_WARM_S", "0.8"))  # at least
LONGEST_WARM_S = float(os.environ.get("FIELD_LONGEST_WARM_S", "8"))
STEPS = int(os.environ.get("FIELD_STEPS", "10"))  # of the window, at least
WINDOW_S = float(os.environ.get("FIELD_WINDOW_S", "3"))  # at least
LONGEST_WINDOW_S = float(os.environ.get("FIELD_LONGEST_WINDOW_S", "5"))  # even with fewer steps
MOST_STEPS = int(os.environ.get("FIELD_MOST_STEPS", "4000"))
RECORDING = os.environ.get("FIELD_RECORDING", "")
RECORDING_BYTES = int(os.environ.get("FIELD_RECORDING_BYTES", "0"))  # the window ends when the recording is larger
LEAST_STEPS = 5  # of a window that ends because of the size
# A program that has not ended after this time is killed.
LATE_S = float(os.environ.get("FIELD_LATE_S", "8"))
READ_AHEAD = 2  # batches that each worker of a loader has ready


class _Steps:
    def __init__(self) -> None:
        self.process = os.getpid()  # of the loop; the workers of a loader are forks of it
        self.begun = 0  # steps since the start, or since the go-ahead
        self.warming_since = 0  # 0: it has not been told to go
        self.warm_steps = 0  # that it needs
        self.took_to_warm = 0
        self.times: list[int] = []  # of the window
        self.looked_ns = 0  # at the size of the recording
        self.workers = 0
        self.first_step_s = time.time() - LAUNCHED
        self.ended = ""
        self.lock = threading.Lock()
        atexit.register(self.write, "the program ended by itself")

    def step(self) -> None:
        if os.getpid() != self.process:
            return
        if self.ended:  # something has caught SystemExit
            raise SystemExit(0)
        now = time.perf_counter_ns()
        if self.times:
            self.times.append(now)
            if why := self.is_enough(now):
                self.end(why)
            return
        self.begun += 1
        if not self.warming_since:
            if self.begun > READY_STEPS:
                self.wait()
            return
        warmed_s = (now - self.warming_since) / 1e9
        if (self.begun > self.warm_steps and warmed_s >= WARM_S) or warmed_s >= LONGEST_WARM_S:
            self.took_to_warm = self.begun
            self.times.append(now)

    def wait(self) -> None:
        """Says that it is ready, and waits for its turn. The process is stopped meanwhile."""
        self.workers = len(multiprocessing.active_children())
        self.warm_steps = max(WARM_STEPS, READ_AHEAD * self.workers + 2)
        with open(READY, "w"):
            pass
        while not os.path.exists(GO):
            time.sleep(0.005)
        late = threading.Timer(LONGEST_WARM_S + LONGEST_WINDOW_S + LATE_S, self.end_at_once)
        late.daemon = True
        late.start()
        self.begun = 0
        self.warming_since = time.perf_counter_ns()

    def is_enough(self, now: int) -> str:
        steps, seconds = len(self.times) - 1, (now - self.times[0]) / 1e9
        if steps >= MOST_STEPS:
            return "enough steps"
        if seconds >= LONGEST_WINDOW_S or (seconds >= WINDOW_S and steps >= STEPS):
            return "enough seconds"
        if RECORDING_BYTES and steps >= LEAST_STEPS and now - self.looked_ns > 200_000_000:
            self.looked_ns = now
            try:
                if sum(entry.stat().st_size for entry in os.scandir(RECORDING)) >= RECORDING_BYTES:
                    return "the recording is large"
            except OSError:
                pass  # it has another name
        return ""

    def end(self, why: str) -> None:
        self.write(why)
        late = threading.Timer(LATE_S, os._exit, (0,))
        late.daemon = True
        late.start()
        raise SystemExit(0)

    def end_at_once(self) -> None:
        if not self.ended:
            self.write("the time was over in the middle of a step")
            os._exit(0)

    def write(self, why: str) -> None:
        """Writes what is known, once. Forks that end write nothing."""
        with self.lock:
            if self.ended or os.getpid() != self.process:
                return
            self.ended = why
            told = {
                "ended": why,
                "first_step_s": round(self.first_step_s, 2),
                "workers": self.workers,
                "warm_up_steps": self.took_to_warm,
                "times_ns": self.times,
            }
            with open(OUT + ".part", "w") as file:
                json.dump(told, file)
            os.rename(OUT + ".part", OUT)


_steps = None


def step() -> None:
    """A step begins."""
    global _steps
    if _steps is None:
        if not OUT:
            return
        _steps = _Steps()
    _steps.step()


def count_steps_of(trainer: Any) -> None:
    """A step begins where the Trainer of transformers says so."""
    import transformers

    class Begins(transformers.TrainerCallback):
        def on_step_begin(self, *_: object, **__: object) -> None:
            step()

    trainer.add_callback(Begins())
