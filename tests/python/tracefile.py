"""Writes small trace files for tests: the format of src/trace/format.h a second time, independent of the C++ writer."""

import hashlib
import struct

UNKNOWN_ID = 0xFFFFFFFF
UNKNOWN_SIZE = 0xFFFFFFFFFFFFFFFF

METADATA, STRINGS, FRAMES, STACKS, RECORDS, CLOCK, LOSSES, END = range(1, 9)
SOURCE_TEXT = 10
PYTHON_FRAME, NATIVE_FRAME, OPERATOR_FRAME = 1, 2, 3
COPY_CALL, SYNC_CALL, LAUNCH_CALL = 1, 3, 4
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
PAGEABLE, PINNED, DEVICE = 1, 2, 3


def _crc32c_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _padded(data):
    return data + bytes(-len(data) % 8)


class TraceFile:
    """Collects the parts of one process's file; `write` puts them down."""

    def __init__(self, pid=100, start_ns=1_700_000_000_000_000_000):
        self.pid = pid
        self.start_ns = start_ns
        self.metadata = {}
        self.losses = {}
        self._strings = {}
        self._frames = {}
        self._stacks = {}
        self._records = []
        self._source = []

    def string(self, text):
        return self._strings.setdefault(text, len(self._strings) + 1)

    def frame(self, kind, function, file, line=0):
        return self._frames.setdefault((kind, function, file, line), len(self._frames) + 1)

    def stack(self, *frames):
        return self._stacks.setdefault(frames, len(self._stacks) + 1)

    def source(self, file, first_line, text, whole=""):
        """Lines of a file from `first_line` on; `whole` is all of it, of which the hash is taken."""
        digest = hashlib.sha256((whole or text).encode()).digest()
        entry = struct.pack("<IIII", self.string(file), first_line, len(text.encode()), 0) + digest
        self._source.append(entry + _padded(text.encode()))

    def call(self, name, kind, correlation, start_ns, end_ns, *, stack=0, size_bytes=UNKNOWN_SIZE, thread=None):
        body = struct.pack(
            "<IqqIIIBBBBiIIIQQQQQ",
            thread or self.pid, self.start_ns + start_ns, self.start_ns + end_ns, correlation, stack, self.string(name),
            kind, 1, 0, 0, 0, 1, 7, 0, size_bytes, 0, 0, 0, 0,
        )  # fmt: skip
        self._record(1, body)

    def memcpy(self, copy_kind, src_kind, dst_kind, size_bytes, correlation, start_ns, end_ns):
        body = struct.pack(
            "<IqqQIIIBBBBIIIIQ",
            0, self.start_ns + start_ns, self.start_ns + end_ns, size_bytes, correlation, 1, 7,
            copy_kind, src_kind, dst_kind, 1, UNKNOWN_ID, UNKNOWN_ID, 0, 1, 0,
        )  # fmt: skip
        self._record(2, body)

    def kernel(self, name, correlation, start_ns, end_ns):
        body = struct.pack(
            "<IqqIIIIQII",
            0,
            self.start_ns + start_ns,
            self.start_ns + end_ns,
            correlation,
            1,
            7,
            self.string(name),
            0,
            0,
            0,
        )
        self._record(4, body)

    def range(self, name, start_ns, end_ns):
        times = (self.start_ns + start_ns, self.start_ns + end_ns)
        self._record(5, struct.pack("<IIIqqII", self.pid, self.pid, self.string(name), *times, 0, 0))

    def device(self, name):
        self._record(6, struct.pack("<IIIQIBBH", 0, self.string(name), 132, 80 << 30, 0, 1, 0, 0xFFFF))

    def _record(self, kind, body):
        data = _padded(struct.pack("<HH", kind, 0) + body)
        self._records.append(struct.pack("<HH", kind, len(data)) + data[4:])

    def write(self, path):
        frames = b"".join(
            struct.pack("<IIIIIIQ", number, kind, self.string(function), self.string(file), line, 1, 0)
            for (kind, function, file, line), number in self._frames.items()
        )
        stacks = b"".join(
            struct.pack("<IHH", number, len(frames), 0)
            + _padded(b"".join(struct.pack("<I", frame) for frame in frames))
            for frames, number in self._stacks.items()
        )
        strings = b"".join(
            struct.pack("<II", number, len(text.encode())) + _padded(text.encode())
            for text, number in self._strings.items()
        )
        metadata = b"".join(
            struct.pack("<II", len(key.encode()), len(value.encode())) + _padded(key.encode() + value.encode())
            for key, value in self.metadata.items()
        )
        losses = b"".join(struct.pack("<IIQ", number, 0, count) for number, count in self.losses.items())
        header = struct.pack("<8sIIqqII24x", b"TPKTRACE", 1, 64, self.start_ns, 0, self.pid, 1)
        chunks = [(METADATA, metadata), (STRINGS, strings), (FRAMES, frames), (STACKS, stacks)]
        chunks += [
            (RECORDS, b"".join(self._records)),
            (SOURCE_TEXT, b"".join(self._source)),
            (LOSSES, losses),
            (END, self._end()),
        ]
        with open(path, "wb") as file:
            file.write(header)
            for chunk_type, payload in chunks:
                if payload:
                    head = struct.pack("<II", chunk_type, len(payload))
                    file.write(
                        struct.pack("<I", 0x434B5054) + head + struct.pack("<I", crc32c(head + payload)) + payload
                    )

    def _end(self):
        counts = {kind: sum(1 for record in self._records if record[0] == kind) for kind in (1, 2, 3, 4)}
        memcpy_bytes = sum(struct.unpack_from("<Q", record, 24)[0] for record in self._records if record[0] == 2)
        return struct.pack(
            "<qQQQQQ16x", self.start_ns + 10**9, counts[1], counts[2], memcpy_bytes, counts[3], counts[4]
        )
