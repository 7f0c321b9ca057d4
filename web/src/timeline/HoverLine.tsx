// The line at the moment that the pointer is at, in whichever panel that is. It moves without the chart below being drawn again.

import { hoverTime, timeRange } from "../state";
import { scaleOf, toPixel } from "./scale";

/** Lies over a positioned element of that width. */
export function HoverLine({ width }: { width: number }) {
  const moment = hoverTime.value;
  if (moment === null || width === 0) return null;
  const scale = scaleOf(timeRange.value, width);
  const x = toPixel(scale, moment);
  return x < scale.left || x > scale.right ? null : <div class="hover-line" style={{ transform: `translateX(${x}px)` }} />;
}
