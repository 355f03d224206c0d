// Workers from a blob: the page is one file, and a worker from a file of its own would not start from file://.
import workerProgram from "worker:codec";
import { scriptUrl } from "../page/trusted.ts";
import type { MakeWorker } from "./pool.ts";

/** How many workers pay off: one block after another comes from the page, which has work of its own. */
export const WORKERS = Math.max(1, Math.min(4, navigator.hardwareConcurrency ?? 2));

export function workerMaker(): MakeWorker {
  const blob = new Blob([workerProgram], { type: "text/javascript" });
  const url = scriptUrl(URL.createObjectURL(blob));
  return () => new Worker(url);
}
