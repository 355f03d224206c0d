#!/usr/bin/env python3
"""Writes the seeds of corpus/kineto: small traces of torch.profiler, each behind the byte that the fuzzer takes off."""

import gzip
import json
import pathlib
import sys

HOST = {"pid": 100, "tid": 100}
DEVICE = {"pid": 0, "tid": 7}


def event(category, name, start, duration, row, **arguments):
    return {"ph": "X", "cat": category, "name": name, **row, "ts": start, "dur": duration, "args": arguments}


def device(category, name, start, duration, correlation, **more):
    place = {"device": 0, "context": 1, "stream": 7, "correlation": correlation}
    return event(category, name, start, duration, DEVICE, **place, **more)


EVERYTHING = [
    event("user_annotation", "ProfilerStep#1", 0, 900, HOST),
    event("user_annotation", "Optimizer.step#SGD.step", 700, 50, HOST),
    event("python_function", "train.py(12): step", 1, 800, HOST, **{"Python id": 1}),
    event("python_function", "<built-in method to of Tensor object at 0x7f00>", 2, 300, HOST),
    event("python_function", "nn.Module: Linear_0", 350, 100, HOST),
    event("cpu_op", "aten::to", 10, 200, HOST, **{"External id": 1, "Sequence number": 4, "Fwd thread id": 0}),
    {"ph": "s", "id": 1, **HOST, "ts": 10, "cat": "fwdbwd", "name": "fwdbwd"},
    event("cpu_op", "autograd::engine::evaluate_function: ToCopyBackward0", 500, 90, HOST, **{"Fwd thread id": 1}),
    event("cuda_runtime", "cudaMemcpyAsync", 20, 30, HOST, cbid=41, correlation=9),
    device("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 40.125, 50.5, 9, bytes=4096),
    event("cuda_runtime", "cudaLaunchKernel", 100, 5, HOST, correlation=10),
    device("kernel", 'void f<int>("x")', 110, 20, 10, grid=[4, 64, 1]),
    event("cuda_runtime", "cudaEventRecord", 120, 5, HOST, correlation=11),
    event("cuda_runtime", "cudaStreamWaitEvent", 130, 5, HOST, correlation=12),
    device("cuda_sync", "Stream Wait Event", 131, 1, 12, wait_on_cuda_event_record_corr_id=11, wait_on_stream=9),
    device("gpu_memset", "Memset (Device)", 200, 1, 13, bytes=4),
    {"name": "thread_name", "ph": "M", "ts": 0, **HOST, "args": {"name": "thread 100 (pt_autograd_0)"}},
]
PEER = [
    event("gpu_memcpy", "Memcpy PtoP (Device -> Device)", 1, 2, DEVICE, fromDevice=0, inDevice=0, toDevice=1, bytes=8)
]
AMD = [
    event("cuda_runtime", "hipMemcpyAsync", 1, 2, HOST, correlation=12, size="4096", kind="Host To Device"),
    event("gpu_memcpy", "CopyHostToDevice", 5, 6, DEVICE, device=2, stream=1, correlation=12, hsa_queue=1),
]
TOP = {
    "schemaVersion": 1,
    "deviceProperties": [{"id": 0, "name": "GPU", "totalGlobalMem": 1 << 36, "numSms": 132}],
    "distributedInfo": {"rank": 1, "world_size": 2},
    "cuda_runtime_version": 13000,
    "baseTimeNanoseconds": 1790857026000000000,
}


def seeds():
    """Name and content of each."""
    everything = json.dumps({**TOP, "traceEvents": EVERYTHING}).encode()
    laid_out = json.dumps({**TOP, "traceEvents": EVERYTHING}, indent=2).encode()
    yield "everything", b"\0" + everything
    yield "laid_out", b"\x0e" + laid_out
    yield "keys_behind", b"\x02" + json.dumps({"traceEvents": EVERYTHING[:9], **TOP}).encode()
    yield "list", b"\x06" + json.dumps(EVERYTHING[7:]).encode()
    yield "peer", b"\x08" + json.dumps({"traceEvents": PEER}).encode()
    yield "amd", b"\x04" + json.dumps({"traceEvents": AMD}).encode()
    yield "cut_off", b"\x00" + everything[: len(everything) * 2 // 3]
    yield "not_escaped", b"\x00" + laid_out.replace(b'\\"x\\"', b'"x"')
    yield "odd_numbers", b"\x00" + everything.replace(b"50.5", b"NaN").replace(b"4096", b"18446744073709551615")
    yield "packed", b"\x01" + gzip.compress(everything, mtime=0)
    yield "packed_twice", b"\x09" + gzip.compress(everything[:900], mtime=0) + gzip.compress(everything[900:], mtime=0)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds():
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
