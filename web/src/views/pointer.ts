// The pointer on the timeline: drag selects a stretch, Shift+drag moves, a click selects, a double click fits, the wheel zooms
// with Ctrl and moves with Shift. On the strip a drag moves the window.
import type { Actions } from "../actions.ts";
import { STRIP_HEIGHT } from "../draw/overview_strip.ts";
import { Renderer, ROWS_TOP } from "../draw/renderer.ts";
import { type Layout, rowAt } from "../layout.ts";
import type { EventRef } from "../model/run.ts";

/** Pixels that the pointer moves before a click becomes a drag. */
const DRAG_DISTANCE = 4;
/** Events this near to the pointer are meant, where they are too narrow to hit. */
const REACH = 4;

export interface Surface {
  canvas: HTMLCanvasElement;
  layout(): Layout;
  scroll(): number;
  scrollBy(pixels: number): boolean;
  hover(event: EventRef | null, x: number, y: number): void;
}

type Drag = {
  kind: "span" | "pan" | "window";
  x: number;
  time: number;
  from: number;
  moved: boolean;
};

/** Returns a function that takes the listeners away. */
export function listenToPointer(surface: Surface, actions: Actions): () => void {
  const { canvas } = surface;
  let drag: Drag | null = null;
  const width = () => canvas.clientWidth;
  const scale = () => Renderer.scale({ ...actions.store.state, width: width() });
  const strip = () => Renderer.stripScale(actions.run, width());

  const eventAt = (x: number, y: number): EventRef | null => {
    const lane = rowAt(surface.layout(), y - ROWS_TOP + surface.scroll())?.lane;
    if (!lane || x < scale().left || y < ROWS_TOP) return null;
    const i = nearestEvent(lane, scale().time(x), scale().nsPerPixel * REACH);
    return i === undefined ? null : { lane, i };
  };

  const down = (e: PointerEvent) => {
    if (e.button !== 0) return;
    canvas.setPointerCapture(e.pointerId);
    const inStrip = e.offsetY < STRIP_HEIGHT;
    const { from } = actions.store.state;
    const time = inStrip ? strip().time(e.offsetX) : scale().time(e.offsetX);
    drag = {
      kind: inStrip ? "window" : e.shiftKey ? "pan" : "span",
      x: e.offsetX,
      time,
      from,
      moved: false,
    };
    if (inStrip) centreWindow(time);
  };
  const centreWindow = (time: number) => {
    const { from, to } = actions.store.state;
    actions.store.look(time - (to - from) / 2, time + (to - from) / 2, !drag?.moved);
  };
  const move = (e: PointerEvent) => {
    actions.pointer = e.offsetX >= scale().left ? scale().time(e.offsetX) : null;
    if (!drag) {
      surface.hover(eventAt(e.offsetX, e.offsetY), e.offsetX, e.offsetY);
      return;
    }
    if (Math.abs(e.offsetX - drag.x) >= DRAG_DISTANCE) drag.moved = true;
    if (!drag.moved) return;
    surface.hover(null, 0, 0);
    const { from, to } = actions.store.state;
    if (drag.kind === "window") centreWindow(strip().time(e.offsetX));
    else if (drag.kind === "pan") {
      const left = drag.from - (e.offsetX - drag.x) * scale().nsPerPixel;
      actions.store.look(left, left + to - from, false);
    } else {
      const time = Math.min(to, Math.max(from, scale().time(e.offsetX)));
      actions.selectSpan(Math.min(drag.time, time), Math.max(drag.time, time));
    }
  };
  const up = (e: PointerEvent) => {
    const wasClick = drag !== null && !drag.moved && drag.kind !== "window";
    drag = null;
    if (!wasClick) return;
    const event = eventAt(e.offsetX, e.offsetY);
    if (event) actions.select(event, false);
    else actions.escape();
  };
  const twice = (e: MouseEvent) => {
    const event = eventAt(e.offsetX, e.offsetY);
    if (event) actions.fit(event.lane.start[event.i]!, event.lane.end(event.i));
  };
  const leave = () => {
    actions.pointer = null;
    surface.hover(null, 0, 0);
  };
  const wheel = (e: WheelEvent) => {
    const distance = e.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1;
    if (e.ctrlKey) {
      actions.zoom(1.0015 ** (e.deltaY * distance), scale().time(e.offsetX));
    } else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
      actions.panBy((e.deltaX || e.deltaY) * distance * scale().nsPerPixel);
    } else if (!surface.scrollBy(e.deltaY * distance)) {
      return;
    }
    e.preventDefault();
  };

  const listeners: [string, (e: never) => void][] = [
    ["pointerdown", down],
    ["pointermove", move],
    ["pointerup", up],
    ["pointerleave", leave],
    ["dblclick", twice],
    ["wheel", wheel],
  ];
  for (const [name, listener] of listeners)
    canvas.addEventListener(name, listener as unknown as EventListener, { passive: false });
  return () => {
    for (const [name, listener] of listeners)
      canvas.removeEventListener(name, listener as unknown as EventListener);
  };
}

interface Sorted {
  count: number;
  start: Float64Array;
  end(i: number): number;
  at(time: number): number | undefined;
  firstEndingAfter(time: number): number;
}

/** The event at this time, or else the nearest one that is at most `reach` away. */
export function nearestEvent(lane: Sorted, time: number, reach: number): number | undefined {
  const hit = lane.at(time);
  if (hit !== undefined) return hit;
  const next = lane.firstEndingAfter(time);
  const after = next < lane.count ? lane.start[next]! - time : Number.POSITIVE_INFINITY;
  const before = next > 0 ? time - lane.end(next - 1) : Number.POSITIVE_INFINITY;
  if (Math.min(after, before) > reach) return undefined;
  return after < before ? next : next - 1;
}
