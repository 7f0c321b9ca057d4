// Names of functions and variables at their places, once there is room for them.

import { shortened } from "../names";
import { colour, ink } from "../theme";
import { fontOf, type Frame, FreeRows, haloed, yOf } from "./frame";
import type { MapSide } from "./model";
import { symbolEnd, symbolName, symbolsBetween } from "./symbols";

/** With more of them in view, names would be a grey mass. */
const MOST = 300;

/** Draws the symbols of the first trace's object at the left edge: a bracket over their bytes, and the name where it fits. `inset` is kept free, in pixels. */
export function drawSymbols(frame: Frame, { trace, places }: MapSide, inset: number): void {
  const object = places.object;
  if (object === null) return;
  const rows: number[] = [];
  for (const [begin, end] of places.addressesBetween(frame.low, frame.high)) {
    rows.push(...symbolsBetween(trace, object, begin, end, MOST + 1 - rows.length));
    if (rows.length > MOST) return;
  }
  const { context, ratio } = frame;
  const free = new FreeRows();
  context.font = fontOf(frame, 10);
  context.textBaseline = "middle";
  context.textAlign = "left";
  const x = frame.left + inset * ratio;
  // Long ones first: of many names in one place they tell most.
  rows.sort((left, right) => (trace.symbolSize[right] ?? 0) - (trace.symbolSize[left] ?? 0));
  for (const row of rows) {
    const begin = places.ofAddress(trace.symbolAddress[row] ?? 0);
    if (begin === null) continue;
    const band = places.bandAt(begin);
    const size = symbolEnd(trace, row) - (trace.symbolAddress[row] ?? 0);
    const top = Math.max(yOf(frame, begin + size), frame.top);
    const bottom = Math.min(yOf(frame, begin), frame.top + frame.height);
    context.fillStyle = ink("muted");
    context.fillRect(x, top, 1.5 * ratio, Math.max(bottom - top - ratio, ratio));
    const middle = Math.min(Math.max((top + bottom) / 2, frame.top + 7 * ratio), frame.top + frame.height - 7 * ratio);
    if (free.take(middle - 5.5 * ratio, middle + 5.5 * ratio)) haloed(frame, shortened(symbolName(trace, row), 60), x + 5 * ratio, middle, ink("text"), band ? colour("sections", band.section.class) : ink("background"));
  }
}
