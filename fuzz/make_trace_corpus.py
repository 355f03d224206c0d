#!/usr/bin/env python3
"""Writes the seeds of corpus/trace: small trace files (docs/format.md), each behind the byte that the fuzzer takes off."""

import pathlib
import struct
import sys


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 8)


def chunk(kind: int, payload: bytes) -> bytes:
    covered = struct.pack("<II", kind, len(payload)) + payload
    return b"TPKC" + covered[:8] + struct.pack("<I", crc32c(covered)) + payload


def record(kind: int, size: int) -> bytes:
    return struct.pack("<HH", kind, size) + bytes(i % 7 for i in range(size - 4))


def header(version: int = 1, header_bytes: int = 64) -> bytes:
    return b"TPKTRACE" + struct.pack("<IIqqII24x", version, header_bytes, 10**18, 10**9, 42, 41)


METADATA = chunk(1, struct.pack("<II", 7, 15) + padded(b"program" + b"python\x1ftrain.py"))
STRINGS = chunk(
    2,
    b"".join(
        struct.pack("<II", i, len(text)) + padded(text)
        for i, text in enumerate([b"cudaMemcpyAsync", b"step", b"\xff\x1b[2J\n", b""], 1)
    ),
)
FRAMES = chunk(3, struct.pack("<IIIIIIQ", 1, 1, 2, 3, 12, 10, 0) + struct.pack("<IIIIIIQ", 2, 2, 1, 0, 0, 0, 4096))
STACKS = chunk(4, struct.pack("<IHHIIII", 1, 3, 1, 2, 1, 9, 0) + struct.pack("<IHH", 2, 0, 0))
SOURCE_TEXT = chunk(
    10,
    struct.pack("<IIII32s", 3, 11, 22, 0, b"\x11" * 32) + padded(b"x = x.cuda()\n\x1b[2J\n\xff\n\n\n")
    + struct.pack("<IIII32s", 2, 0, 2, 0, b"\x12" * 32) + padded(b"a\n")
    + struct.pack("<IIII32s", 9, 1, 4096, 0, b"\x13" * 32),
)  # fmt: skip
SIZES = {1: 96, 2: 72, 3: 64, 4: 56, 5: 40, 6: 32, 7: 16, 8: 24, 9: 48, 10: 24}
RECORDS = chunk(5, b"".join(record(kind, size) for kind, size in SIZES.items()))
CLOCK = chunk(6, struct.pack("<qqqQ", 10**18, 10**9, -(2**63), 0))
LOSSES = chunk(7, struct.pack("<IIQ", 1, 0, 5) + struct.pack("<IIQ", 99, 0, 1))
END = chunk(8, struct.pack("<qQQQQQ16x", 10**18 + 5, 1, 1, 0, 1, 1))
WHOLE = header() + METADATA + STRINGS + FRAMES + STACKS + RECORDS + CLOCK + SOURCE_TEXT + LOSSES + END

SEEDS = {
    "whole": WHOLE,
    "header_only": header(),
    "longer_header": header(header_bytes=96) + bytes(32) + RECORDS,
    "newer_version": header(version=2) + RECORDS,
    "torn": WHOLE[:-20],
    "garbage_between": header() + RECORDS + b"TPKCTPK" + STRINGS + END,
    "unknown_chunk_and_records": header()
    + chunk(99, bytes(24))
    + chunk(5, record(77, 16) + record(4, 64) + record(4, 48)),
    "use_before_definition": header() + RECORDS + STACKS + FRAMES + STRINGS,
    "defined_twice": header() + STRINGS + STRINGS + FRAMES + FRAMES + STACKS + LOSSES + LOSSES + END + END,
    "source_text": header() + SOURCE_TEXT + SOURCE_TEXT + STRINGS,
    "no_trace": b'{"traceEvents": []}',
}


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in SEEDS.items():
        (folder / name).write_bytes(b"\0" + content)


if __name__ == "__main__":
    main()
