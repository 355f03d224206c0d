// From the text of a block's element to its columns. Runs in a worker, or in the page where workers are not allowed.
import type { ColumnName } from "../format.ts";
import { fromBase64 } from "./base64.ts";
import { type BlockHeader, type Columns, inflatedSize, readBlock } from "./block.ts";
import { inflate } from "./inflate.ts";

export interface Job {
  text: string;
  lane: string;
  columns: ColumnName[];
  header: BlockHeader;
}

/** Throws an Error that names the block and its lane. */
export async function decode(job: Job): Promise<Columns> {
  try {
    const packed = fromBase64(job.text);
    const bytes = await inflate(packed, inflatedSize(job.columns, job.header.count));
    return readBlock(bytes, job.columns, job.header);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`Block ${job.header.id} of lane "${job.lane}" cannot be read: ${why}`);
  }
}

export function buffersOf(columns: Columns): ArrayBuffer[] {
  return Object.values(columns).map((column) => column.buffer as ArrayBuffer);
}
