// Between moments and places on a chart whose plot keeps the margins that all charts keep.

import { LEFT_MARGIN, RIGHT_MARGIN } from "../charts/margins";

export interface Scale {
  /** The moments at the two edges of the plot. */
  begin: number;
  end: number;
  /** The plot's edges in pixels from the left of the chart. */
  left: number;
  right: number;
}

/** The scale of a chart that is so many pixels wide, margins included. */
export function scaleOf(range: readonly [number, number], width: number): Scale {
  return { begin: range[0], end: range[1], left: LEFT_MARGIN, right: Math.max(width - RIGHT_MARGIN, LEFT_MARGIN + 1) };
}

/** Where a moment stands; beyond the edges if it is not shown. */
export function toPixel(scale: Scale, moment: number): number {
  return scale.left + ((moment - scale.begin) / (scale.end - scale.begin)) * (scale.right - scale.left);
}

/** The moment at a place. */
export function toMoment(scale: Scale, pixel: number): number {
  return scale.begin + ((pixel - scale.left) / (scale.right - scale.left)) * (scale.end - scale.begin);
}

/** Nanoseconds between ticks of which some 100 pixels lie between each two: 1, 2 or 5 times a power of ten. */
export function tickStep(scale: Scale): number {
  const wish = ((scale.end - scale.begin) * 100) / (scale.right - scale.left);
  const power = 10 ** Math.floor(Math.log10(wish));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= wish) ?? 10;
  return factor * power;
}

/** Moments that get a tick. */
export function ticks(scale: Scale): number[] {
  const step = tickStep(scale);
  const moments = [];
  for (let nth = Math.ceil(scale.begin / step); nth * step <= scale.end; nth += 1) moments.push(nth * step);
  return moments;
}

/** A tick's label: milliseconds with as many digits as the ticks beside it need; seconds where they are seconds apart. */
export function tickLabel(moment: number, step: number): string {
  if (step >= 1e9) return `${(moment / 1e9).toFixed(0)} s`;
  const digits = Math.min(Math.max(0, Math.ceil(-Math.log10(step / 1e6) - 1e-9)), 6);
  return `${(moment / 1e6).toFixed(digits)} ms`;
}
