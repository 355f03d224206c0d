"""The loop that reads one number from the GPU, in a thread that is not the main one."""

import threading

from _workload import run

thread = threading.Thread(target=run, args=("item-loop", __doc__))
thread.start()
thread.join()
