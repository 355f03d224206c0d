#!/usr/bin/env python3
"""A copy past PyTorch on a real GPU: with a recorder the guard reports it as inexact, and PyTorch's copies once.

    tests/gpu/guard/outside.py

Exits 1 when anything differs. Its calls go to the libcudart that PyTorch loaded, by ctypes and so past PyTorch's slots,
and to the driver.
"""

from __future__ import annotations

import ctypes
import re
import sys
import tempfile

import torch

import turnpike as tp


def library(name: str) -> ctypes.CDLL:
    with open("/proc/self/maps") as maps:
        path = re.search(rf"(/\S*/{name}\S*)", maps.read())
    assert path, f"{name} is not loaded"
    return ctypes.CDLL(path[1])


def caught(function, **rules) -> tp.TransferError | None:
    try:
        with tp.guard(**rules):
            function()
    except tp.TransferError as error:
        return error
    return None


def main() -> None:
    on_gpu = torch.ones(1024, device="cuda")
    host = (ctypes.c_float * 1024)()
    runtime, driver = library("libcudart.so"), library("libcuda.so")
    size, address = ctypes.c_size_t(4096), ctypes.c_void_p(on_gpu.data_ptr())

    def by_runtime() -> None:
        assert runtime.cudaMemcpy(host, address, size, 2) == 0

    def by_driver() -> None:
        assert driver.cuMemcpyDtoH_v2(host, address, size) == 0

    def wait() -> None:
        assert runtime.cudaDeviceSynchronize() == 0

    failures = []

    def expect(what: str, found: object, expected: object) -> None:
        print(f"{'ok  ' if found == expected else 'FAIL'} {what}: {found}")
        if found != expected:
            failures.append(what)

    def seen(error: tp.TransferError | None) -> tuple | None:
        return error and (error.kind, error.bytes, error.host_memory, error.function, error.exact)

    for copy in (by_runtime, by_driver):
        expect(f"{copy.__name__} without a recorder", seen(caught(copy, d2h="disallow")), None)
    with tempfile.TemporaryDirectory() as folder, tp.record(f"{folder}/run.tpk"):
        for copy in (by_runtime, by_driver):
            expected = ("d2h", 4096, "pageable", copy.__qualname__, False)
            expect(copy.__name__, seen(caught(copy, d2h="disallow")), expected)
        expect("wait", seen(caught(wait, sync="disallow")), ("sync", 0, None, wait.__qualname__, False))
        stopped = caught(on_gpu[0].item, d2h="disallow")
        expect("item() is stopped", stopped and (stopped.kind, stopped.exact), ("d2h", True))
        expect("item() counts once", caught(on_gpu[0].item, d2h=1, sync=1), None)
        expect("cpu() counts once", caught(on_gpu.cpu, d2h=1), None)
        moved = tp.to(torch.ones(1 << 20), "cuda")
        expect("tp.to", caught(lambda: tp.to(torch.ones(1 << 20), "cuda"), h2d="disallow", pageable="disallow"), None)
        for _ in range(1000):
            caught(lambda: (by_runtime(), on_gpu.sum()), d2h="disallow")
        torch.cuda.synchronize()
        assert moved.sum().item() == 1 << 20
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
