// Draws the timeline: strip, axis, row headings, rows, marks. It keeps nothing but its image; each frame is drawn from the state.
import type { Layout, Row } from "../layout.ts";
import type { EventRef, Run } from "../model/run.ts";
import { drawAxis, drawGrid } from "./axis.ts";
import { DensityImage } from "./density.ts";
import { drawEvents, type EventPainter, isSparse } from "./events.ts";
import { FONT, fitting, headingsOf } from "./labels.ts";
import { drawCauses, drawMark, drawSelected, drawSpan, type MarkPainter } from "./marks.ts";
import { drawMemory } from "./memory.ts";
import { drawStrip, STRIP_HEIGHT } from "./overview_strip.ts";
import { colourOf, type Palette, pixelOf } from "./palette.ts";
import { Scale } from "./scale.ts";

export const AXIS_HEIGHT = 24;
/** Where the rows begin. */
export const ROWS_TOP = STRIP_HEIGHT + AXIS_HEIGHT;

export interface Frame {
  layout: Layout;
  palette: Palette;
  from: number;
  to: number;
  /** How far the rows are scrolled. */
  scroll: number;
  event: EventRef | null;
  site: number | null;
  span: readonly [number, number] | null;
  marks: readonly number[];
  hits: readonly EventRef[];
  width: number;
  height: number;
  dpr: number;
}

export class Renderer {
  private readonly density = new DensityImage();
  private pixelsOf: { palette: Palette; pixels: Uint32Array } | undefined;

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly run: Run,
  ) {}

  /** How wide the row headings are. */
  static headingWidth(width: number): number {
    return width < 700 ? 110 : 210;
  }

  static scale(frame: Pick<Frame, "from" | "to" | "width">): Scale {
    const left = Renderer.headingWidth(frame.width);
    return new Scale(frame.from, frame.to, left, frame.width - left - 12);
  }

  static stripScale(run: Run, width: number): Scale {
    return Renderer.scale({ from: 0, to: run.contents.span_ns, width });
  }

  draw(frame: Frame): void {
    const { context, run } = this;
    const { palette, width, height, dpr } = frame;
    const scale = Renderer.scale(frame);
    context.setTransform(dpr, 0, 0, dpr, 0, 0);
    context.font = FONT;
    context.fillStyle = palette.background;
    context.fillRect(0, 0, width, height);
    drawStrip(
      context,
      run,
      palette,
      Renderer.stripScale(run, width),
      [frame.from, frame.to],
      frame.hits,
    );
    drawAxis(context, palette, scale, STRIP_HEIGHT + AXIS_HEIGHT / 2 + 1);
    context.save();
    context.beginPath();
    context.rect(0, ROWS_TOP, width, height - ROWS_TOP);
    context.clip();
    context.translate(0, ROWS_TOP - frame.scroll);
    this.drawRows(frame, scale);
    context.restore();
  }

  private drawRows(frame: Frame, scale: Scale): void {
    const { context, run } = this;
    const { palette, layout, dpr } = frame;
    const visible = layout.rows.filter(
      (row) =>
        row.y + row.height >= frame.scroll && row.y <= frame.scroll + frame.height - ROWS_TOP,
    );
    drawGrid(context, palette, scale, 0, layout.height);
    for (const row of visible) this.drawHeading(frame, row, scale);
    context.save();
    context.beginPath();
    context.rect(scale.left, 0, scale.width, layout.height);
    context.clip();
    for (const row of visible) this.drawBackground(frame, row, scale);
    this.drawDensity(frame, visible, scale);
    const painter: EventPainter = { context, run, palette, scale, dpr, site: frame.site };
    for (const row of visible) {
      if (row.lane?.entry.curve) drawMemory(context, palette, scale, row, row.lane.entry.curve);
      else if (row.lane) drawEvents(painter, row, row.lane);
    }
    const marks: MarkPainter = { context, run, palette, scale, layout };
    drawCauses(marks);
    if (frame.event) drawSelected(marks, frame.event);
    frame.marks.forEach((time, i) => {
      drawMark(marks, time, i + 1);
    });
    if (frame.span) drawSpan(marks, frame.span);
    context.restore();
  }

  private drawHeading({ palette }: Frame, row: Row, scale: Scale): void {
    const { context } = this;
    context.textBaseline = "middle";
    context.textAlign = "left";
    const isGroup = row.lane === null;
    const indent =
      isGroup ||
      (row.lane?.entry.device === undefined && row.lane?.entry.kind !== "python") ||
      row.lane.entry.kind === "state"
        ? 10
        : 22;
    context.fillStyle = isGroup || indent === 10 ? palette.text : palette.mutedText;
    const room = (isGroup ? scale.left + scale.width : scale.left) - indent - 8;
    const text = row.title === "" ? null : fitting(context, headingsOf(row.title), room, true);
    if (text) context.fillText(text, indent, row.y + row.height / 2 + 0.5);
    context.fillStyle = palette.rule;
    if (!row.isSubRow) context.fillRect(0, row.y - 4, scale.left + scale.width, 1);
  }

  private drawBackground({ palette }: Frame, row: Row, scale: Scale): void {
    const kind = row.lane?.entry.kind;
    // A predicted lane covers one step; around it nothing is known, which a background would hide.
    if ((kind !== "state" && kind !== "host") || row.lane?.entry.fix !== undefined) return;
    this.context.fillStyle = kind === "state" ? palette.stateBackground : palette.rowBackground;
    this.context.fillRect(scale.left, row.y, scale.width, row.height);
  }

  private drawDensity(frame: Frame, rows: readonly Row[], scale: Scale): void {
    // The image reaches beyond the visible rows, so that rows cut by an edge are in it as a whole; the clip does the rest.
    const margin = 60;
    const top = frame.scroll - margin;
    const height = frame.height + 2 * margin;
    this.density.begin(scale.width, height);
    const pixels = this.pixels(frame.palette);
    for (const row of rows) {
      const { lane } = row;
      if (!lane || lane.count === 0 || isSparse(lane, scale)) continue;
      const y = Math.round(row.y - top);
      if (y < 0 || y + row.height > height) continue;
      if (lane.firstEndingAfter(scale.from) >= lane.firstStartingAt(scale.to)) continue;
      this.density.addLane(
        this.run.pyramid(lane),
        scale,
        y,
        row.height,
        pixels,
        pixelOf(frame.palette.waiting),
      );
    }
    this.density.draw(this.context, scale.left, top);
  }

  private pixels(palette: Palette): Uint32Array {
    if (this.pixelsOf?.palette !== palette) {
      const pixels = Uint32Array.from({ length: 256 }, (_, c) => pixelOf(colourOf(palette, c)));
      this.pixelsOf = { palette, pixels };
    }
    return this.pixelsOf.pixels;
  }
}
