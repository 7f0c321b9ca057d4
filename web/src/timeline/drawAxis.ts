// Draws the axis above the lanes: milliseconds, and the marks' labels in a row for each trace.

import { ink } from "../theme";
import type { Mark } from "./marks";
import { type Scale, tickLabel, ticks, tickStep, toPixel } from "./scale";

const ROW = 15;

/** How high the axis is with these marks, in pixels. */
export function axisHeight(marks: readonly Mark[]): number {
  return ROW * (1 + new Set(marks.map((mark) => mark.trace)).size) + 3;
}

export function drawAxis(context: CanvasRenderingContext2D, scale: Scale, marks: readonly Mark[], height: number): void {
  const step = tickStep(scale);
  const y = height - ROW / 2 - 2;
  context.fillStyle = ink("muted");
  for (const moment of ticks(scale)) {
    const x = Math.round(toPixel(scale, moment));
    context.fillRect(x, height - 4, 1, 4);
    const label = tickLabel(moment, step);
    const width = context.measureText(label).width;
    context.fillText(label, Math.min(x - width / 2, scale.right + 14 - width), y - 1);
  }
  context.fillStyle = ink("line");
  context.fillRect(scale.left, height - 1, scale.right - scale.left, 1);
  const rows = [...new Set(marks.map((mark) => mark.trace))];
  rows.forEach((trace, row) => drawMarks(context, scale, marks.filter((mark) => mark.trace === trace), ROW * row, height));
}

function drawMarks(context: CanvasRenderingContext2D, scale: Scale, marks: readonly Mark[], top: number, height: number): void {
  let free = scale.right + 14;
  for (const mark of [...marks].sort((left, right) => right.at - left.at)) {
    const x = Math.round(toPixel(scale, mark.at));
    if (x < scale.left || x > scale.right) continue;
    const width = context.measureText(mark.label).width + 8;
    // Right of its line where there is room up to the next label, else left of it.
    const left = x + width <= free ? x + 4 : x - width + 4;
    context.fillStyle = mark.colour();
    context.fillRect(x, top + 2, 1.5, height - top - ROW - 2);
    context.fillRect(x, height - 4, 1.5, 4);
    context.fillText(mark.label, left, top + ROW / 2 + 1);
    free = Math.min(left, x) - 2;
  }
}
