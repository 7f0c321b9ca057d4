// One picture of the map while it is drawn: where the plot stands on the canvas, in pixels of the screen, and what part of the object it shows.

import type { DotView } from "./dots";

export interface Frame extends DotView {
  context: CanvasRenderingContext2D;
  left: number;
  top: number;
  /** Pixels of the screen to one of the page. */
  ratio: number;
}

export function xOf(frame: Frame, moment: number): number {
  return frame.left + ((moment - frame.begin) / (frame.end - frame.begin)) * frame.width;
}

export function yOf(frame: Frame, place: number): number {
  return frame.top + ((frame.high - place) / (frame.high - frame.low)) * frame.height;
}

/** Text with a halo in the background's colour, readable over dots. */
export function haloed(frame: Frame, text: string, x: number, y: number, colour: string, halo: string): void {
  const { context } = frame;
  context.strokeStyle = halo;
  context.lineWidth = 3 * frame.ratio;
  context.lineJoin = "round";
  context.strokeText(text, x, y);
  context.fillStyle = colour;
  context.fillText(text, x, y);
}

/** The font of the map's texts. */
export function fontOf(frame: Frame, size = 11, weight = "normal"): string {
  return `${weight} ${size * frame.ratio}px system-ui, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif`;
}

/** Keeps texts from lying over one another: rows that are taken. */
export class FreeRows {
  private readonly taken: [number, number][] = [];

  /** Takes a stretch if it is free. */
  take(begin: number, end: number): boolean {
    if (this.taken.some(([from, to]) => begin < to && end > from)) return false;
    this.taken.push([begin, end]);
    return true;
  }
}

/** The same for texts that stand anywhere. */
export class FreeBoxes {
  private readonly taken: [number, number, number, number][] = [];

  /** Takes a box if it is free. */
  take(left: number, top: number, right: number, bottom: number): boolean {
    if (this.taken.some(([from, above, to, below]) => left < to && right > from && top < below && bottom > above)) return false;
    this.taken.push([left, top, right, bottom]);
    return true;
  }
}
