// The program of a decoding worker: a job in, its columns out.
import { buffersOf, decode, type Job } from "./decode.ts";

self.onmessage = async (message: MessageEvent<Job>) => {
  try {
    const columns = await decode(message.data);
    self.postMessage({ columns }, { transfer: buffersOf(columns) });
  } catch (error) {
    self.postMessage({ error: (error as Error).message });
  }
};
