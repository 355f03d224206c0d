"""What tp.move_stats() and tp.calibrate() show, in exact words and numbers: of an engine that only tells figures."""

import dataclasses
import types

import pytest

import turnpike as tp
from turnpike import _core
from turnpike._move import arena, born, pool, stats
from turnpike._move import calibrate as calibrate_module
from turnpike._move import engine as engine_module

MIB = 1 << 20


def stats_of(**changed):
    given = {
        "h2d": tp.Traffic(3, 5 * MIB, 4 * MIB, 2, 50_000, 1_000),
        "d2h": tp.Traffic(),
        "p2p": tp.Traffic(transfers=1, bytes=1023),
        "pinned_bytes": 2 * MIB,
        "pending": 4,
        "threads": 8,
        "chunk_bytes": 4 * MIB,
        "pinned_limit_bytes": 64 * MIB,
        "results_bytes": 0,
        "results_limit_bytes": 0,
    }
    return tp.MoveStats(**{**given, **changed})


def test_traffic_has_a_rate_where_something_was_timed():
    assert tp.Traffic(timed_bytes=50_000, timed_ns=1_000).gbps == 50
    assert tp.Traffic(timed_bytes=50_000).gbps is None
    assert tp.Traffic() == tp.Traffic(0, 0, 0, 0, 0, 0)


def test_stats_are_shown_as_a_table():
    assert repr(stats_of()).split("\n") == [
        "               transfers       bytes      staged  packed    GB/s",
        "host to GPU            3     5.0 MiB     4.0 MiB       2    50.0",
        "GPU to host            0         0 B         0 B       0       -",
        "GPU to GPU             1      1023 B         0 B       0       -",
        "8 threads, chunks of 4.0 MiB; 2.0 MiB page-locked of at most 64.0 MiB; 4 transfers under way",
    ]
    assert stats_of()._repr_html_() == f"<pre>{stats_of()!r}</pre>"


def test_results_and_batches_are_shown_where_there_are_any():
    lines = repr(stats_of(results_bytes=MIB, results_limit_bytes=2 * MIB)).split("\n")
    assert lines[4] == "1.0 MiB page-locked for results, of at most 2.0 MiB"
    assert len(lines) == 6
    for batches, elsewhere in ((3, 0), (0, 2), (3, 2)):
        lines = repr(stats_of(loader=tp.LoaderBatches(batches, elsewhere, MIB))).split("\n")
        assert lines[5:] == [f"{batches} batches made in 1.0 MiB of page-locked memory, {elsewhere} elsewhere"]
    assert len(repr(stats_of(loader=tp.LoaderBatches(0, 0, MIB))).split("\n")) == 5


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1024**2 - 1024, "1023.0 KiB"),
        (1024**2, "1.0 MiB"),
        (1024**3, "1.0 GiB"),
        (1024**4, "1.0 TiB"),
        (5000 * 1024**4, "5000.0 TiB"),
    ],
)
def test_sizes_have_the_largest_unit_that_fits(size, text):
    assert stats._size(size) == text


class Engine:
    def __init__(self):
        self.asked = []

    def stats(self):
        return {"h2d": {"transfers": 2, "bytes": 7}, "pinned_bytes": 11, "pending": 13}

    def release_pinned(self):
        return 100

    def calibrate(self, device, progress):
        self.asked.append(device)
        if progress is not None:
            progress(1, 2)
            progress(2, 2)
        point = {"threads": 1, "chunk_bytes": MIB, "h2d_gbps": 1.0, "d2h_gbps": 2.0, "store": "plain"}
        return {
            "device": device,
            "device_name": "A GPU",
            "settings": (6, 2 * MIB, 64 * MIB, 12, "string"),
            "points": [point, {**point, "threads": 6, "store": "string"}],
            "h2d_gbps": 3.0,
            "d2h_gbps": 4.0,
            "h2d_pinned_gbps": 5.0,
            "d2h_pinned_gbps": 6.0,
        }


@pytest.fixture
def engine(monkeypatch):
    made = Engine()
    monkeypatch.setattr(engine_module, "engine", lambda: made)
    monkeypatch.setattr(engine_module, "is_open", lambda: True)
    monkeypatch.setattr(engine_module, "settings", lambda: (6, MIB, 32 * MIB, 12, "plain"))
    return made


def test_stats_are_those_of_the_engine(engine, monkeypatch):
    monkeypatch.setattr(pool, "taken_bytes", lambda: 17)
    monkeypatch.setattr(pool, "limit_bytes", lambda: 19)
    found = tp.move_stats()
    assert found.h2d == tp.Traffic(transfers=2, bytes=7)
    assert found.d2h == found.p2p == tp.Traffic()
    assert (found.pinned_bytes, found.pending) == (11, 13)
    assert (found.threads, found.chunk_bytes, found.pinned_limit_bytes) == (6, MIB, 32 * MIB)
    assert (found.results_bytes, found.results_limit_bytes) == (17, 19)
    monkeypatch.setattr(engine_module, "is_open", lambda: False)
    monkeypatch.setattr(engine_module, "engine", None)  # asking does not open it
    found = tp.move_stats()
    assert found.h2d == tp.Traffic()
    assert (found.pinned_bytes, found.pending, found.threads) == (0, 0, 6)


def test_releasing_adds_up_what_each_gave(engine, monkeypatch):
    monkeypatch.setattr(born, "release", lambda: 20)
    monkeypatch.setattr(pool, "release", lambda: 3)
    assert tp.release_pinned() == 123
    monkeypatch.setattr(engine_module, "is_open", lambda: False)
    assert tp.release_pinned() == 0


def test_settings_go_where_they_belong(monkeypatch):
    given = []
    monkeypatch.setattr(arena, "set_limit", lambda value: given.append(("batches", value)))
    monkeypatch.setattr(pool, "configure", lambda value: given.append(("results", value)))
    monkeypatch.setattr(engine_module, "configure", lambda *values: given.append(values))
    tp.configure_move()
    assert given == []
    tp.configure_move(batch_bytes=0, results_bytes=0)
    assert given == [("batches", 0), ("results", 0)]
    given.clear()
    tp.configure_move(threads=3)
    tp.configure_move(chunk_bytes=4096)
    tp.configure_move(pinned_bytes=8192)
    assert given == [(3, None, None), (None, 4096, None), (None, None, 8192)]


@pytest.mark.parametrize("name", ["batch_bytes", "results_bytes"])
def test_negative_sizes_are_refused(name):
    with pytest.raises(tp.Error, match=f"^{name} is -1: it must be 0 or more$"):
        tp.configure_move(**{name: -1})


@pytest.mark.parametrize("threads", [-1, 0, 65])
def test_a_number_of_threads_that_cannot_be_is_refused_at_once(threads):
    with pytest.raises(tp.Error, match=f"threads is {threads}: it must be 1 to 64"):
        tp.configure_move(threads=threads)


def test_sizes_may_be_texts(monkeypatch):
    told = []
    monkeypatch.setattr(stats.pool, "configure", told.append)
    for size in ("1 GB", "64 MiB", "0.5kB", 7):
        tp.configure_move(results_bytes=size)
    assert told == [10**9, 64 << 20, 500, 7]
    for size in ("much", "1 parsec", "-1 GB"):
        with pytest.raises(ValueError, match="results_bytes .* is no size"):
            tp.configure_move(results_bytes=size)
    for size in (1.5, True):
        with pytest.raises(TypeError, match="results_bytes is a number of bytes"):
            tp.configure_move(results_bytes=size)


def test_a_scalar_without_its_name_is_refused():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for loss in (torch.tensor(0.5), torch.tensor(3), 0.5):
        with pytest.raises(TypeError, match="by name"):
            tp.Scalars().add(loss)


def test_calibrating_tells_what_it_found_and_shows_how_far_it_is(engine, monkeypatch, capsys):
    devices = []

    def device_of(device):
        devices.append(device)
        return types.SimpleNamespace(index=5)

    monkeypatch.setattr(engine_module, "device_of", device_of)
    fake = types.SimpleNamespace(device=lambda *words: words)
    monkeypatch.setattr(calibrate_module, "torch", fake)
    found = tp.calibrate()
    assert (found.device, found.device_name, found.threads, found.chunk_bytes) == (5, "A GPU", 6, 2 * MIB)
    assert (found.h2d_gbps, found.d2h_gbps, found.h2d_pinned_gbps, found.d2h_pinned_gbps) == (3, 4, 5, 6)
    assert found.points == (
        tp.CalibrationPoint(1, MIB, 1.0, 2.0, "plain"),
        tp.CalibrationPoint(6, MIB, 1.0, 2.0, "string"),
    )
    assert capsys.readouterr().err == "\rcalibrating: 1 of 2\rcalibrating: 2 of 2\n"
    tp.calibrate(3, progress=False)
    tp.calibrate("cuda:1", progress=False)
    assert capsys.readouterr().err == ""
    assert devices == [("cuda",), ("cuda", 3), "cuda:1"]
    assert engine.asked == [5, 5, 5]


def test_calibrating_needs_a_gpu(monkeypatch):
    monkeypatch.setattr(engine_module, "engine", lambda: None)
    with pytest.raises(_core.Error, match="measures the link to a GPU, and PyTorch sees none in this process"):
        tp.calibrate()


@pytest.mark.parametrize("found", [tp.Traffic(), tp.LoaderBatches(), stats_of(), tp.CalibrationPoint(1, 2, 3, 4, "")])
def test_what_was_found_is_not_changed(found):
    field = dataclasses.fields(found)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(found, field, 1)
