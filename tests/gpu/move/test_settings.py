"""The settings of the engine on a GPU, and what it counts."""

import pytest

import turnpike as tp

pytestmark = pytest.mark.usefixtures("no_memory_kept")


def test_settings_and_stats(torch, gpu):
    tp.to(torch.ones(1 << 24), gpu)
    before = tp.move_stats()
    try:
        tp.configure_move(threads=3, chunk_bytes=1 << 20, pinned_bytes=8 << 20)
        assert torch.equal(tp.to(torch.arange(1 << 24), gpu).cpu(), torch.arange(1 << 24))
        stats = tp.move_stats()
        assert (stats.threads, stats.chunk_bytes, stats.pinned_limit_bytes) == (3, 1 << 20, 8 << 20)
        assert 0 < stats.pinned_bytes <= 8 << 20
        assert stats.h2d.bytes - before.h2d.bytes == 8 << 24 and stats.h2d.gbps > 0
        assert tp.release_pinned() == stats.pinned_bytes and tp.move_stats().pinned_bytes == 0
        assert "host to GPU" in repr(stats)
        with pytest.raises(tp.Error):
            tp.configure_move(threads=0)
    finally:
        tp.configure_move(
            threads=before.threads, chunk_bytes=before.chunk_bytes, pinned_bytes=before.pinned_limit_bytes
        )
