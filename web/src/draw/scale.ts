// Time to pixels and back.

export class Scale {
  /** `left` and `width` are the plot's, in CSS pixels. */
  constructor(
    readonly from: number,
    readonly to: number,
    readonly left: number,
    readonly width: number,
  ) {}

  get nsPerPixel(): number {
    return (this.to - this.from) / this.width;
  }

  x(time: number): number {
    return this.left + ((time - this.from) / (this.to - this.from)) * this.width;
  }

  /** The same, but not further than a bit outside the plot: canvases draw badly at huge coordinates. */
  clampedX(time: number): number {
    return Math.max(this.left - 20, Math.min(this.left + this.width + 20, this.x(time)));
  }

  time(x: number): number {
    return this.from + ((x - this.left) / this.width) * (this.to - this.from);
  }
}
