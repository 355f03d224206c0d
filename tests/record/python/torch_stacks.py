"""Stacks inside PyTorch's operators, on the CPU: the operator's frames, and autograd's numbers. Needs the probe preloaded."""

import ctypes
import sys
import threading

import stack_probe
from stack_probe import library, library_with_gil, read, run

UNKNOWN, FORWARD, BACKWARD = 0, 1, 2


def mark():
    sequence = ctypes.c_uint64()
    role = library_with_gil.probe_autograd(ctypes.byref(sequence))
    return role, sequence.value


def unknown_without_torch():
    assert "torch" not in sys.modules
    assert mark() == (UNKNOWN, 0)


def operators_are_in_the_native_part():
    x = torch.ones(1000, 1000)
    library.probe_arm()
    y = x.to(torch.float64); line = sys._getframe().f_lineno
    stack = read(library.probe_at_allocation())
    assert y.dtype == torch.float64
    kinds = "".join(f.kind for f in stack.frames)
    assert "PN" not in kinds and not stack.is_truncated, kinds
    natives = [f.function for f in stack.frames if f.kind == "N"]
    operators = [name for name in natives if name.startswith("_ZN2at4_ops") and "4call" in name]
    assert operators, natives
    # The outermost is what the line asked for, as the GPU measurements of .to() have it.
    assert operators[-1].startswith("_ZN2at4_ops15to_dtype_layout4call") or operators[-1].startswith(
        "_ZN2at4_ops8to_dtype4call"), operators
    innermost = next(f for f in stack.frames if f.kind == "P")
    assert (innermost.function, innermost.file, innermost.line) == (
        "operators_are_in_the_native_part", __file__, line), innermost


def forward_numbers_are_those_of_the_nodes():
    x = torch.ones(3, requires_grad=True)
    for operation in (torch.sin, torch.exp, torch.sum):
        role, sequence = mark()
        assert role == FORWARD
        node = operation(x).grad_fn
        assert node._sequence_nr() == sequence, (node._sequence_nr(), sequence)


def backward_numbers_are_those_of_the_nodes():
    seen = []

    class Seen(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            seen.append((mark(), read(library.probe_capture())))
            return gradient * 2

    x = torch.ones(3, requires_grad=True)
    nodes = []
    for _ in range(5):
        y = Seen.apply(x)
        nodes.append(y.grad_fn._sequence_nr())
        y.sum().backward()
    assert [each[0] for each in seen] == [(BACKWARD, number) for number in nodes], (seen, nodes)
    functions = [f.function.split(".")[-1] for f in seen[0][1].frames if f.kind == "P"]
    assert functions[0] == "backward" and "backward_numbers_are_those_of_the_nodes" in functions, functions
    assert mark()[0] == FORWARD


def threads_have_their_own_numbers():
    x = torch.ones(3, requires_grad=True)
    results = []

    def work():
        for _ in range(300):
            role, sequence = mark()
        results.append((role, sequence, torch.sin(x).grad_fn._sequence_nr()))

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    role, sequence, number = results[0]
    assert role == FORWARD and sequence == number, results


def operators_of_the_backward_pass():
    x = torch.ones(1000, 1000, requires_grad=True)
    y = torch.sin(x).sum()
    gradient = torch.ones(())  # made here, or the line would make it outside of the engine
    library.probe_arm()
    y.backward(gradient)
    stack = read(library.probe_at_allocation())
    natives = [f.function for f in stack.frames if f.kind == "N"]
    assert any("autograd6Engine" in name for name in natives), natives
    assert any(name.startswith("_ZN2at4_ops3cos") for name in natives), natives


def what_it_costs():
    x = torch.ones(1000, 1000)

    def at_depth(depth):
        if depth:
            return at_depth(depth - 1)
        library.probe_arm()
        x.to(torch.float64)
        return read(library.probe_at_allocation())

    stack = at_depth(6)
    kinds = [f.kind for f in stack.frames]
    print(f"capture of {kinds.count('N')} native and {kinds.count('P')} Python frames, seen before: "
          f"{library.probe_time_at_allocation():.0f} ns; autograd mark: "
          f"{min(library.probe_time_autograd(2000) for _ in range(20)):.0f} ns")


if __name__ == "__main__":
    unknown_without_torch()
    try:
        import torch
    except ImportError:
        print("skipped: this Python has no PyTorch")
        sys.exit(77)
    print(sys.version, torch.__version__)
    for _ in range(300):  # it is looked for at every 256th call
        mark()
    run([operators_are_in_the_native_part, forward_numbers_are_those_of_the_nodes,
         backward_numbers_are_those_of_the_nodes, threads_have_their_own_numbers, operators_of_the_backward_pass,
         what_it_costs])
