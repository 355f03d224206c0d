// The timeline: a canvas that is drawn again after each change, and beside it what screen readers get.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Actions } from "../actions.ts";
import { labelsOf } from "../draw/labels.ts";
import { paletteFor } from "../draw/palette.ts";
import { type Frame, Renderer, ROWS_TOP } from "../draw/renderer.ts";
import { keyFor } from "../keys.ts";
import { type Layout, layoutOf } from "../layout.ts";
import type { EventRef } from "../model/run.ts";
import { visible } from "../short_name.ts";
import { spokenEvent, spokenWindow } from "../spoken.ts";
import { duration } from "../time_text.ts";
import { listenToPointer } from "./pointer.ts";
import { currentTheme, useTheme } from "./theme.ts";
import { useActions, useCalmViewState, useViewState } from "./use_store.ts";

const TOOLTIP_DELAY_MS = 120;

interface Hover {
  event: EventRef;
  x: number;
  y: number;
}

/** Draws on a canvas, at most once a frame. Lives as long as the canvas. */
class Painter {
  scroll = 0;
  private readonly renderer: Renderer;
  private requested = 0;
  private layoutFor:
    | { hidden: ReadonlySet<number>; fix: number | null; layout: Layout }
    | undefined;

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly actions: Actions,
    /** Gets how many rows lie below the edge, whenever the picture changes. */
    private readonly tellRowsBelow: (count: number) => void,
  ) {
    this.renderer = new Renderer(canvas.getContext("2d", { alpha: false })!, actions.run);
  }

  get layout(): Layout {
    const { hidden, fix } = this.actions.store.state;
    if (this.layoutFor?.hidden !== hidden || this.layoutFor.fix !== fix)
      this.layoutFor = { hidden, fix, layout: layoutOf(this.actions.run, { hidden, fix }) };
    return this.layoutFor.layout;
  }

  /** How high the canvas wants to be: all rows, if they fit on a screen below the findings, or both runs on one. */
  get wantedHeight(): number {
    const screens = this.actions.run.isComparison ? 1.2 : 0.7;
    const most = Math.max(360, Math.round(innerHeight * screens));
    return Math.min(this.layout.height + ROWS_TOP, most);
  }

  request = (): void => {
    this.requested ||= requestAnimationFrame(() => {
      this.requested = 0;
      this.paint();
    });
  };

  scrollBy(pixels: number): boolean {
    const most = Math.max(0, this.layout.height + ROWS_TOP - this.canvas.clientHeight);
    const scroll = Math.min(most, Math.max(0, this.scroll + pixels));
    const moved = scroll !== this.scroll;
    this.scroll = scroll;
    if (moved) this.request();
    return moved;
  }

  stop(): void {
    cancelAnimationFrame(this.requested);
  }

  private paint(): void {
    const { canvas, actions } = this;
    const height = this.wantedHeight;
    canvas.style.height = `${height}px`;
    const width = canvas.clientWidth;
    if (width < 200) return;
    const dpr = devicePixelRatio || 1;
    const [w, h] = [Math.round(width * dpr), Math.round(height * dpr)];
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    const { state } = actions.store;
    const frame: Frame = {
      layout: this.layout,
      palette: paletteFor(currentTheme() === "dark"),
      from: state.from,
      to: state.to,
      scroll: this.scroll,
      event: actions.event ?? null,
      site: actions.site,
      span: state.span,
      marks: state.marks,
      hits: state.query === "" ? [] : actions.hits.events,
      width,
      height,
      dpr,
    };
    const edge = this.scroll + height - ROWS_TOP;
    this.tellRowsBelow(frame.layout.rows.filter((row) => row.y + row.height > edge).length);
    const begin = performance.now();
    this.renderer.draw(frame);
    performance.measure("turnpike-frame", { start: begin, end: performance.now() });
  }
}

export function Timeline() {
  const { run } = useActions();
  if (!run.isEmpty) return <Surface />;
  return (
    <section class="timeline" aria-label="Timeline">
      <p>Nothing was recorded: the timeline has no events to show.</p>
    </section>
  );
}

function Surface() {
  const actions = useActions();
  const theme = useTheme();
  const canvas = useRef<HTMLCanvasElement>(null);
  const painter = useRef<Painter | null>(null);
  const [hover, setHover] = useState<Hover | null>(null);
  const [rowsBelow, setRowsBelow] = useState(0);

  useEffect(() => {
    const own = new Painter(canvas.current!, actions, setRowsBelow);
    painter.current = own;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stops = [
      actions.store.listen(own.request),
      listenToPointer(
        {
          canvas: own.canvas,
          layout: () => own.layout,
          scroll: () => own.scroll,
          scrollBy: (pixels) => own.scrollBy(pixels),
          hover(event, x, y) {
            clearTimeout(timer);
            if (event) timer = setTimeout(() => setHover({ event, x, y }), TOOLTIP_DELAY_MS);
            else setHover(null);
          },
        },
        actions,
      ),
    ];
    const observer = new ResizeObserver(own.request);
    observer.observe(own.canvas);
    addEventListener("resize", own.request);
    own.request();
    return () => {
      for (const stop of stops) stop();
      clearTimeout(timer);
      observer.disconnect();
      removeEventListener("resize", own.request);
      own.stop();
    };
  }, [actions]);
  useEffect(() => painter.current?.request(), [theme]);

  const onKeyDown = (pressed: KeyboardEvent) => {
    const key = keyFor(pressed);
    if (!key) return;
    pressed.preventDefault();
    setHover(null);
    key.run(actions);
  };
  return (
    <section class="timeline" aria-label="Timeline">
      <div
        class="surface"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keys of the timeline work while it has the focus
        tabIndex={0}
        role="application"
        aria-label="Timeline; the tab help lists its keys"
        onKeyDown={onKeyDown}
      >
        <Picture canvas={canvas} />
        {rowsBelow > 0 ? (
          <p class="more-rows" aria-hidden="true">
            {rowsBelow === 1 ? "1 more row" : `${rowsBelow} more rows`} below: use the wheel
          </p>
        ) : null}
        {hover ? <Tooltip {...hover} width={canvas.current?.clientWidth ?? 0} /> : null}
      </div>
      <Spoken />
    </section>
  );
}

function Picture({ canvas }: { canvas: { current: HTMLCanvasElement | null } }) {
  const { run } = useActions();
  const { from, to } = useCalmViewState();
  return <canvas ref={canvas} role="img" aria-label={spokenWindow(run, from, to)} />;
}

function Spoken() {
  const actions = useActions();
  useViewState();
  const { event } = actions;
  return (
    <p class="sr" aria-live="polite">
      {event ? spokenEvent(actions.run, event) : ""}
    </p>
  );
}

function Tooltip({ event, x, y, width }: Hover & { width: number }) {
  const { run } = useActions();
  const { lane, i } = event;
  const words = labelsOf(run, event)[0];
  const side = x > width / 2 ? { right: `${width - x + 12}px` } : { left: `${x + 12}px` };
  return (
    <div class="tooltip" role="tooltip" style={{ top: `${y + 14}px`, ...side }}>
      <b>{words ? visible(words).slice(0, 160) : run.shortNameOf(event)}</b>
      <br />
      {duration(lane.duration(i))}
      {run.siteText(event) ? `, ${visible(run.siteText(event)!)}` : ""}
    </div>
  );
}
