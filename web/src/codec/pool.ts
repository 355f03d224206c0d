// Decodes blocks in a few workers. Where the browser refuses workers, the page decodes by itself.
import type { Columns } from "./block.ts";
import { decode, type Job } from "./decode.ts";

type Reply = { columns: Columns; error?: undefined } | { columns?: undefined; error: string };

interface Task {
  job: Job;
  done(columns: Columns): void;
  failed(error: Error): void;
}

/** Makes one worker, or throws. */
export type MakeWorker = () => Worker;

export class DecodePool {
  private readonly queue: Task[] = [];
  private readonly idle: Worker[] = [];
  private readonly busy = new Map<Worker, Task>();
  private inPage = false;

  constructor(makeWorker: MakeWorker, size: number) {
    try {
      for (let i = 0; i < size; i++) this.add(makeWorker());
    } catch {
      this.workInPage();
    }
  }

  decode(job: Job): Promise<Columns> {
    return new Promise((done, failed) => {
      this.queue.push({ job, done, failed });
      this.next();
    });
  }

  /** Ends the workers. Call it when every block is there. */
  close(): void {
    for (const worker of [...this.idle, ...this.busy.keys()]) worker.terminate();
    this.idle.length = 0;
    this.busy.clear();
  }

  private add(worker: Worker): void {
    worker.onmessage = (message: MessageEvent<Reply>) => this.finish(worker, message.data);
    // A policy that forbids workers shows only now, as an error event of the worker.
    worker.onerror = (event) => {
      event.preventDefault();
      this.workInPage();
    };
    this.idle.push(worker);
  }

  private finish(worker: Worker, reply: Reply): void {
    const task = this.busy.get(worker);
    this.busy.delete(worker);
    this.idle.push(worker);
    if (reply.columns) task?.done(reply.columns);
    else task?.failed(new Error(reply.error));
    this.next();
  }

  private next(): void {
    if (this.inPage) {
      for (const task of this.queue.splice(0)) decode(task.job).then(task.done, task.failed);
      return;
    }
    while (this.queue.length > 0 && this.idle.length > 0) {
      const worker = this.idle.pop()!;
      const task = this.queue.shift()!;
      this.busy.set(worker, task);
      worker.postMessage(task.job);
    }
  }

  private workInPage(): void {
    const unfinished = [...this.busy.values()];
    this.close();
    this.inPage = true;
    this.queue.unshift(...unfinished);
    this.next();
  }
}
