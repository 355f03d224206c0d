// What the user looks at. One object, replaced as a whole; everything that shows something listens to it.

export type Selection =
  | { kind: "event"; number: number }
  | { kind: "site"; index: number }
  | { kind: "finding"; index: number };

export const TABS = ["details", "view", "transfers", "waits", "source", "run", "help"] as const;
export type Tab = (typeof TABS)[number];
/** Of a page that compares two runs: the document beside the timeline has the rest. */
export const TABS_OF_COMPARISON: readonly Tab[] = ["details", "view", "help"];

export interface ViewState {
  /** The window of the timeline, in ns since the run's start. */
  from: number;
  to: number;
  selection: Selection | null;
  /** The selected stretch of time, whose sums are shown. */
  span: [number, number] | null;
  tab: Tab;
  /** The finding whose fix is shown below the recording. */
  fix: number | null;
  hidden: ReadonlySet<number>;
  marks: readonly number[];
  query: string;
  /** Of two runs: by how much the one after the change is moved from where the file has it, in ns. */
  shift: number;
}

export class Store {
  private readonly listeners = new Set<() => void>();
  private readonly windows: { from: number; to: number; shift: number }[] = [];

  constructor(
    private current: ViewState,
    private readonly limits: [number, number],
  ) {
    this.current = { ...current, ...this.window(current.from, current.to) };
  }

  get state(): ViewState {
    return this.current;
  }

  set(change: Partial<ViewState>): void {
    this.current = { ...this.current, ...change };
    for (const listener of this.listeners) listener();
  }

  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Moves the window, kept inside the run. A jump can be undone by `back`; panning and zooming step by step cannot. */
  look(from: number, to: number, isJump = true, shift = this.current.shift): void {
    if (isJump) this.remember();
    this.set({ ...this.window(from, to), shift });
  }

  back(): void {
    const window = this.windows.pop();
    if (window) this.set(window);
  }

  private remember(): void {
    const last = this.windows.at(-1);
    const { from, to, shift } = this.current;
    if (last?.from === from && last.to === to && last.shift === shift) return;
    this.windows.push({ from, to, shift });
    if (this.windows.length > 100) this.windows.shift();
  }

  private window(from: number, to: number): { from: number; to: number } {
    const [first, last] = this.limits;
    const width = Math.min(last - first, Math.max(100, to - from));
    const left = Math.min(last - width, Math.max(first, from));
    return { from: left, to: left + width };
  }
}
