"""Each function of the runtime has a hook that reads its parameters."""

import pytest


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("copy_ptds", ("h2d", 8, "cudaMemcpy_ptds")),
        ("copy_async_ptsz", ("d2h", 8, "cudaMemcpyAsync_ptsz")),
        ("rows_async_ptsz", ("h2d", 6, "cudaMemcpy2DAsync_ptsz")),
        ("block", ("h2d", 24, "cudaMemcpy3D")),
        ("block_between", ("p2p", 24, "cudaMemcpy3DPeerAsync")),
        ("batch", ("h2d", 11, "cudaMemcpyBatchAsync")),
        ("to_symbol", ("h2d", 8, "cudaMemcpyToSymbol")),
        ("from_symbol", ("d2h", 8, "cudaMemcpyFromSymbolAsync")),
        ("within_gpu", ("d2d", 8, "cudaMemcpyToSymbol")),
        ("to_array", ("h2d", 6, "cudaMemcpy2DToArray")),
        ("prefetch", ("h2d", 8, "cudaMemPrefetchAsync")),
        ("prefetch_back", ("d2h", 8, "cudaMemPrefetchAsync")),
        ("prefetch_to_host", ("d2h", 8, "cudaMemPrefetchAsync_v2")),
        ("wait_ptsz", ("sync", 0, "cudaStreamSynchronize_ptsz")),
        ("allocate_async", ("alloc", 9, "cudaMallocAsync")),
        ("allocate_managed", ("alloc", 9, "cudaMallocManaged")),
        ("free_pinned", ("alloc", 0, "cudaFreeHost")),
    ],
)
def test_a_call_is_seen_and_made(run, call, found):
    run(f"""
        call = torch.address(torch.library("RUNTIME_CALLS").{call})
        kinds = ("h2d", "d2h", "d2d", "p2p", "h2h", "alloc", "sync")
        try:
            with tp.guard(**dict.fromkeys(kinds, "disallow")):
                torch.call(call)
        except tp.TransferError as error:
            kind, size, name = {found!r}
            assert (error.direction, error.bytes, error.exact) == (kind, size, False), vars(error)
            assert f" by {{name}} at " in str(error), error
        else:
            raise AssertionError
        assert torch.calls() == 1
    """)
