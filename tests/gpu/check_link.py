#!/usr/bin/env python3
"""What the machine says of its GPU's link, and what Turnpike makes of it. Prints every raw value, then the checks.

tests/gpu/check_link.py [FOLDER]     with `turnpike` in the PATH and PyTorch; FOLDER keeps the recording

Exits 1 when a check failed. What this machine cannot tell (no sysfs, one NUMA node) is printed and is no failure.
"""

import contextlib
import ctypes
import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

# Records 30 large copies each way, and one from memory of each NUMA node that the process may use.
PROGRAM = """
import sys, time, torch
pinned = torch.empty(64 << 20, dtype=torch.uint8, pin_memory=True)
pageable = torch.ones(64 << 20, dtype=torch.uint8)
on_gpu = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
for _ in range(30):
    on_gpu.copy_(pinned, non_blocking=True)
    torch.cuda.synchronize()
    pinned.copy_(on_gpu, non_blocking=True)
    torch.cuda.synchronize()
    time.sleep(0.03)
on_gpu.copy_(pageable)
print("program: pinned", hex(pinned.data_ptr()), "pageable", hex(pageable.data_ptr()))
"""

SYSFS_FILES = (
    "current_link_speed", "current_link_width", "max_link_speed", "max_link_width", "numa_node", "local_cpulist",
    "class", "vendor", "device",
)  # fmt: skip
MOVE_PAGES = 279  # the number of the system call on x86-64; 239 on aarch64
GET_MEMPOLICY = 239
MPOL_F_NODE_ADDR = 1 | 2
FIELDS = {197: "PCIE_COUNT_TX_BYTES", 198: "PCIE_COUNT_RX_BYTES", 138: "NVLINK_THROUGHPUT_DATA_TX",
          139: "NVLINK_THROUGHPUT_DATA_RX", 202: "NVLINK_COUNT_XMIT_BYTES", 204: "NVLINK_COUNT_RCV_BYTES",
          160: "PCIE_REPLAY_COUNTER"}  # fmt: skip

RAW = "--raw-values"

problems: list[str] = []


def check(is_fine: bool, what: str) -> None:
    print(("fine    " if is_fine else "PROBLEM ") + what)
    if not is_fine:
        problems.append(what)


def heading(text: str) -> None:
    print(f"\n--- {text}", flush=True)


def shown(path: str) -> str:
    try:
        with open(path, errors="replace") as file:
            return file.read(4000).strip() or "(empty)"
    except OSError as error:
        return f"({error.strerror})"


def show_sysfs() -> None:
    heading("sysfs")
    for path in (
        "/proc/version",
        "/proc/sys/kernel/osrelease",
        "/sys/devices/system/node/online",
        "/proc/driver/nvidia/version",
    ):
        print(path, "=", shown(path).split("\n")[0])
    folders = glob.glob("/sys/bus/pci/devices/*")
    print("folders in /sys/bus/pci/devices:", len(folders))
    nvidia = [folder for folder in folders if shown(f"{folder}/vendor") == "0x10de"]
    for folder in nvidia:
        print(folder)
        for name in SYSFS_FILES:
            print("   ", name, "=", shown(f"{folder}/{name}"))
    for path in glob.glob("/proc/driver/nvidia/gpus/*/information"):
        print(path, "=", shown(path).replace("\n", "; "))
    seccomp = [
        line
        for line in shown("/proc/self/status").split("\n")
        if line.startswith(("Seccomp", "Mems_allowed", "CapEff"))
    ]
    print("; ".join(seccomp))


class FieldValue(ctypes.Structure):
    _fields_ = (
        ("field", ctypes.c_uint), ("scope", ctypes.c_uint), ("timestamp", ctypes.c_longlong),
        ("latency_us", ctypes.c_longlong), ("type", ctypes.c_int), ("result", ctypes.c_uint),
        ("value", ctypes.c_ulonglong),
    )  # fmt: skip


class Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


def timed(call: Callable[..., int], *arguments: Any) -> tuple[int, float]:
    start = time.perf_counter()
    result = call(*arguments)
    return result, 1e3 * (time.perf_counter() - start)


class Nvml:
    """The functions of NVML with their results and times printed."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        self.device = ctypes.c_void_p()
        count = ctypes.c_uint()
        self.say("nvmlInitWithFlags", 0)
        self.say("nvmlDeviceGetCount_v2", ctypes.byref(count))
        self.say("nvmlDeviceGetHandleByIndex_v2", 0, ctypes.byref(self.device))
        print("GPUs:", count.value)

    def say(self, name: str, *arguments: Any) -> None:
        result, ms = timed(getattr(self.library, name), *arguments)
        print(f"{name} = {result} in {ms:.1f} ms")

    def number(self, name: str, *arguments: Any) -> int | None:
        value = ctypes.c_uint(0)
        try:
            call = getattr(self.library, name)
        except AttributeError:
            print(f"{name}: not in this library")
            return None
        result, ms = timed(call, self.device, *arguments, ctypes.byref(value))
        print(f"{name}{arguments or ''} = {result} value {value.value} in {ms:.2f} ms")
        return value.value if result == 0 else None

    def link(self) -> tuple[int | None, int | None]:
        return self.number("nvmlDeviceGetCurrPcieLinkGeneration"), self.number("nvmlDeviceGetCurrPcieLinkWidth")

    def show(self) -> None:
        self.link()
        for name in (
            "nvmlDeviceGetMaxPcieLinkGeneration",
            "nvmlDeviceGetMaxPcieLinkWidth",
            "nvmlDeviceGetGpuMaxPcieLinkGeneration",
            "nvmlDeviceGetPcieSpeed",
            "nvmlDeviceGetPcieLinkMaxSpeed",
            "nvmlDeviceGetNumaNodeId",
            "nvmlDeviceGetPerformanceState",
        ):
            self.number(name)
        for counter, name in ((0, "TX"), (1, "RX")):
            print(name, end=": ")
            self.number("nvmlDeviceGetPcieThroughput", counter)
        states = []
        for link in range(18):
            state = ctypes.c_uint(99)
            result = self.library.nvmlDeviceGetNvLinkState(self.device, link, ctypes.byref(state))
            states.append(f"{result}/{state.value}")
        print("nvmlDeviceGetNvLinkState (result/state):", *states)
        use = Utilization()
        print(
            "nvmlDeviceGetUtilizationRates =",
            self.library.nvmlDeviceGetUtilizationRates(self.device, ctypes.byref(use)),
            use.gpu,
            use.memory,
        )
        for name in ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses"):
            count = ctypes.c_uint(0)
            print(
                name,
                "=",
                getattr(self.library, name)(self.device, ctypes.byref(count), None),
                "count",
                count.value,
                "(7: there are some)",
            )
        self.counters()

    def counters(self) -> dict[str, int]:
        values = (FieldValue * len(FIELDS))(*[FieldValue(field=field) for field in FIELDS])
        result, ms = timed(self.library.nvmlDeviceGetFieldValues, self.device, len(FIELDS), values)
        print(f"nvmlDeviceGetFieldValues = {result} in {ms:.2f} ms")
        for value in values:
            name = FIELDS[value.field]
            print(f"    {name}: result {value.result} type {value.type} {value.value} {value.value:#x}")
        return {FIELDS[value.field]: value.value for value in values if value.result == 0}


def show_nvml() -> Nvml | None:
    heading("NVML, idle")
    try:
        nvml = Nvml()
    except OSError as error:
        print("no NVML:", error)
        return None
    nvml.show()
    return nvml


def show_pages(what: str, address: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    page = ctypes.c_void_p(address & ~4095)
    status = ctypes.c_int(-999)
    result = libc.syscall(MOVE_PAGES, 0, 1, ctypes.byref(page), None, ctypes.byref(status), 0)
    print(
        f"{what}: move_pages = {result} (errno {ctypes.get_errno() if result else 0}) status {status.value}", end="; "
    )
    node = ctypes.c_int(-999)
    result = libc.syscall(GET_MEMPOLICY, ctypes.byref(node), None, 0, page, MPOL_F_NODE_ADDR)
    print(f"get_mempolicy = {result} (errno {ctypes.get_errno() if result else 0}) node {node.value}")
    with contextlib.suppress(OSError), open("/proc/self/maps") as maps:
        for line in maps:
            low, high = (int(end, 16) for end in line.split()[0].split("-"))
            if low <= address < high:
                print("    maps:", line.strip())
    with contextlib.suppress(OSError), open("/proc/self/numa_maps") as maps:
        best = ""
        for line in maps:
            if int(line.split()[0], 16) <= address:
                best = line
        print("    numa_maps:", best.strip()[:200] or "(nothing)")


def show_memory_and_counters(nvml: Nvml | None) -> None:
    import torch

    heading("host memory: where its pages are")
    pinned = torch.empty(64 << 20, dtype=torch.uint8, pin_memory=True)
    registered = torch.ones(64 << 20, dtype=torch.uint8)
    torch.cuda.cudart().cudaHostRegister(registered.data_ptr(), registered.numel(), 0)
    pageable = torch.ones(64 << 20, dtype=torch.uint8)
    gpu = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
    for what, tensor in (("pinned", pinned), ("registered", registered), ("pageable", pageable), ("device", gpu)):
        show_pages(f"{what} {tensor.data_ptr():#x}", tensor.data_ptr())
    if nvml is None:
        return
    heading("NVML while copies run, every 50 ms; and the counters before and after 100 x 64 MiB up, then 50 down")
    before = nvml.counters()
    for turn in range(6):
        for _ in range(100 if turn == 0 else 40):
            gpu.copy_(pinned, non_blocking=True)
        print(turn, end=" ")
        nvml.link()
        torch.cuda.synchronize()
        if turn == 0:
            after = nvml.counters()
            print(
                "100 x 64 MiB up = 6710886400 bytes; differences:",
                {name: after[name] - before[name] for name in after if name in before},
            )
    before = nvml.counters()
    for _ in range(50):
        pinned.copy_(gpu, non_blocking=True)
    torch.cuda.synchronize()
    after = nvml.counters()
    print(
        "50 x 64 MiB down = 3355443200 bytes; differences:",
        {name: after[name] - before[name] for name in after if name in before},
    )
    for seconds in (1, 3):
        time.sleep(seconds)
        print(f"idle for {seconds} s more:", end=" ")
        nvml.link()
    nvml.say("nvmlShutdown")


def turnpike(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    start = time.perf_counter()
    done = subprocess.run(["turnpike", *words], capture_output=True, text=True, timeout=120, check=False, **options)
    print(f"$ turnpike {' '.join(words)[:150]}   -> {done.returncode} in {time.perf_counter() - start:.2f} s")
    return done


@contextlib.contextmanager
def cache_of_its_own() -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        yield {**os.environ, "XDG_CACHE_HOME": folder}


def record(run: str, environment: dict[str, str], *options: str) -> tuple[subprocess.CompletedProcess[str], float]:
    start = time.perf_counter()
    done = turnpike("record", "--force", "-o", run, *options, "--", sys.executable, "-c", PROGRAM, env=environment)
    seconds = time.perf_counter() - start
    print(done.stdout + done.stderr)
    check(done.returncode == 0, f"turnpike record {' '.join(options)} exits 0")
    return done, seconds


def report_of(run: str, environment: dict[str, str]) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(turnpike("report", run, "--json", env=environment).stdout)
    for device in report["source"]["devices"]:
        print("device:", device)
    for direction in ("h2d", "d2h"):
        total = report["totals"][direction]
        print(
            direction,
            {key: total[key] for key in ("count", "bytes", "bandwidth_gbps", "link_gbps", "link_source", "link_basis")},
        )
    return report


def check_metadata(run: str) -> None:
    heading("what was recorded")
    lines = turnpike("dump", run, "--kind", "metadata,device").stdout.splitlines()
    wanted = [
        line for line in lines if 'key="link.' in line or 'key="host_memory' in line or line.startswith("device ")
    ]
    print("\n".join(wanted))
    check(any('key="link.0"' in line for line in wanted), "the recording says something of the link of GPU 0")
    check(
        any('key="host_memory"' in line for line in wanted), "the recording says something of the nodes of host memory"
    )


def check_report(report: dict[str, Any], source: str, model_is_fine: bool = True) -> None:
    device = report["source"]["devices"][0]
    if device["pcie_generation"] is not None:
        check(1 <= device["pcie_generation"] <= device["pcie_max_generation"] <= 7, "PCIe generation is plausible")
        check(
            device["pcie_width"] in (1, 2, 4, 8, 16) and device["pcie_max_width"] >= device["pcie_width"],
            "PCIe width is plausible",
        )
    else:
        print("PCIe generation: unknown on this machine")
    print("NUMA node of the GPU:", device["numa_node"])
    for direction in ("h2d", "d2h"):
        total = report["totals"][direction]
        check(total["link_gbps"] is not None, f"{direction}: the report has a limit")
        check(
            total["link_source"] == source or (model_is_fine and total["link_source"] == "learnt"),
            f"{direction}: its source is {source}, or learnt: {total['link_source']}",
        )


def check_without_measuring(folder: str, environment: dict[str, str]) -> float:
    """Returns how many seconds the recording took."""
    heading("a recording with --no-link")
    run = f"{folder}/no-link.tpk"
    done, seconds = record(run, environment, "--no-link")
    check("the link" not in done.stderr, "nothing is said of the link")
    check_metadata(run)
    check_report(report_of(run, environment), "generation")
    text = turnpike("report", run, "--all", env=environment).stdout
    print("\n".join(line for line in text.splitlines() if "link" in line))
    for words in ("link unknown", "gain unknown"):
        check(words not in text, f'the report does not say "{words}"')
    return seconds


def check_measuring(folder: str, environment: dict[str, str], plain: float) -> None:
    heading("a recording that measures the link")
    run = f"{folder}/measured.tpk"
    done, first = record(run, environment)
    kept = pathlib.Path(environment["XDG_CACHE_HOME"], "turnpike/link.json")
    print(
        "seconds with --no-link",
        round(plain, 2),
        "measuring",
        round(first, 2),
        "kept:",
        kept.read_text() if kept.exists() else "nothing",
    )
    check(kept.exists(), "the rates are kept")
    check(done.stderr.count("link of") == 1, "one line says so")
    seconds = re.search(r"in ([\d.]+) s; --no-link", done.stderr)
    check(seconds is not None and float(seconds[1]) <= 1, "measuring took 1 s at most")
    check(first - plain <= 3, "with the wait for an idle GPU, and CUDA's start, 3 s at most")
    again, second = record(run, environment)
    print("the second time", round(second, 2))
    check("link of" not in again.stderr, "the second recording measures nothing")
    if not kept.exists():
        return
    mine = json.loads(kept.read_text())["links"][0]
    check_report(report_of(run, environment), "measured", model_is_fine=False)
    bench = json.loads(turnpike("bench", "link", "--json", env=environment).stdout)["links"][0]
    for direction in ("h2d", "d2h"):
        ours, theirs = mine[f"{direction}_pinned_gbps"], bench[f"{direction}_pinned_gbps"]["median"]
        check(
            abs(ours / theirs - 1) <= 0.1,
            f"{direction}: measured {ours:.2f} GB/s, turnpike bench {theirs:.2f}: within 10 %",
        )


def show_raw_values() -> None:
    show_sysfs()
    nvml = show_nvml()
    try:
        show_memory_and_counters(nvml)
    except ImportError as error:
        print("no PyTorch:", error)


def main() -> int:
    if sys.argv[1:] == [RAW]:
        show_raw_values()
        return 0
    folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    # In a process of its own: as long as this one used the GPU, nobody would measure its link.
    raw = subprocess.run([sys.executable, __file__, RAW], timeout=60, check=False)
    check(raw.returncode == 0, "the raw values were read to their end")
    with cache_of_its_own() as environment:
        plain = check_without_measuring(folder, environment)
        check_measuring(folder, environment, plain)
    print("\n".join(["", "all is fine" if not problems else f"{len(problems)} problems:", *problems]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
