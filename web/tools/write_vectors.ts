// Writes the vectors that the decoder here and the writer in C++ are both tested with:
//   node tools/run.mjs tools/write_vectors.ts ../tests/report/html_blocks.json
import { writeFileSync } from "node:fs";
import { type ColumnName, NO_LINK } from "../src/format.ts";
import { type PlainEvent, packed, planesOf } from "./encode.ts";

interface Case {
  name: string;
  columns: ColumnName[];
  events: PlainEvent[];
}

const cases: Case[] = [
  {
    name: "two kernels, one without a known launch",
    columns: ["start", "duration", "name", "class", "link"],
    events: [
      { start: 1000, duration: 4832, name: 0, class: 1, link: 3 },
      { start: 5832, duration: 0, name: 1, class: 7, link: NO_LINK },
      { start: 70000, duration: 65536, name: 300, class: 7, link: 2 },
    ],
  },
  {
    name: "copies",
    columns: ["start", "duration", "name", "class", "link", "site", "bytes", "exposed"],
    events: [
      { start: 0, duration: 896, name: 0, class: 17, link: 0, site: 1, bytes: 4096, exposed: 896 },
      {
        start: 2000,
        duration: 90000,
        name: 0,
        class: 16,
        link: 7,
        site: 0,
        bytes: 5368709120,
        exposed: 12,
      },
    ],
  },
  {
    name: "an event of more than 4.29 s, and the longest that is not",
    columns: ["start", "duration"],
    events: [
      { start: 10, duration: 4294967294 },
      { start: 4294967304, duration: 4294967295 },
      { start: 8589934600, duration: 9000000000000 },
    ],
  },
  {
    name: "a gap of more than 4.29 s starts a new block",
    columns: ["start", "duration"],
    events: [
      { start: 0, duration: 1 },
      { start: 4294967295, duration: 1 },
      { start: 8589934591, duration: 1 },
    ],
  },
];

const vectors = cases.map(({ name, columns, events }) => ({
  name,
  columns,
  events,
  blocks: planesOf(events, columns).map(({ header, bytes }) => ({
    ...header,
    planes_hex: Buffer.from(bytes).toString("hex"),
    text: packed(bytes),
  })),
}));
writeFileSync(process.argv[2]!, `${JSON.stringify(vectors, null, 1)}\n`);
