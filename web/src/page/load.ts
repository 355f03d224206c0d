// Reads the page's own data: the report, the table of contents, and the blocks in the background.
import { WORKERS, workerMaker } from "../codec/make_worker.ts";
import { DecodePool } from "../codec/pool.ts";
import { ELEMENTS } from "../format.ts";
import { Run } from "../model/run.ts";
import { checkContents } from "./contents.ts";
import { checkReport } from "./report.ts";

function textOf(id: string): string {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The page lacks its part "${id}"; the file may be cut off`);
  const text = element.textContent ?? "";
  // The decoded form takes its place; two copies of 50 MB would not.
  element.remove();
  return text;
}

function jsonOf(id: string): unknown {
  try {
    return JSON.parse(textOf(id));
  } catch (error) {
    throw new Error(`The part "${id}" cannot be read: ${(error as Error).message}`);
  }
}

/** The run without events, or both runs of a comparison. Throws with a sentence for the user. */
export function readRun(): Run {
  const report = jsonOf(ELEMENTS.report);
  const contents = checkContents(jsonOf(ELEMENTS.contents));
  // A comparison is shown by the document alone.
  return new Run(contents, contents.after_group === undefined ? checkReport(report) : null);
}

/** Fills in the events of all lanes. Rejects with the first block that cannot be read. */
export async function loadEvents(run: Run): Promise<void> {
  const pool = new DecodePool(workerMaker(), WORKERS);
  try {
    await Promise.all(
      run.lanes.map(async (lane) => {
        const { entry } = lane;
        const blocks = entry.blocks.map((header) =>
          pool.decode({
            text: textOf(`${ELEMENTS.block}${header.id}`),
            lane: entry.title,
            columns: entry.columns,
            header,
          }),
        );
        // The first failure is reported; those after it must not count as unhandled.
        for (const block of blocks) block.catch(() => {});
        for (const block of blocks) lane.append(await block);
      }),
    );
  } finally {
    pool.close();
  }
}
