// Ticks of the vertical axis: sizes while much is shown, offsets of pages once one looks at pages.

import { hex } from "../format";
import { PAGE_SIZE } from "../data/trace";
import type { Places } from "./places";

/** At most about so many ticks between two places; memory has no offsets, it gets one word. */
export function placeTicks(places: Places, low: number, high: number, most: number): { place: number; label: string }[] {
  const wish = (high - low) / most;
  const isPages = high - low < 512 * PAGE_SIZE;
  const step = isPages ? Math.max(2 ** Math.ceil(Math.log2(wish)), 16) : roundStep(wish);
  const ticks: { place: number; label: string }[] = [];
  const end = Math.min(high, places.fileEnd);
  for (let nth = Math.max(0, Math.ceil(low / step)); nth * step <= end; nth += 1) {
    ticks.push({ place: nth * step, label: isPages ? hex(nth * step) : sizeText(nth * step, step) });
  }
  const memory = (Math.max(low, places.fileEnd) + Math.min(high, places.end)) / 2;
  if (memory > places.fileEnd && Math.min(high, places.end) - Math.max(low, places.fileEnd) > wish * 0.25) {
    while (ticks.length > 0 && memory - (ticks[ticks.length - 1]?.place ?? 0) < wish * 0.3) ticks.pop();
    ticks.push({ place: memory, label: "memory" });
  }
  return ticks;
}

const UNITS: readonly (readonly [size: number, name: string])[] = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];

/** A size with as many digits as tell it from the ticks beside it: "102.5 MB". */
function sizeText(place: number, step: number): string {
  const found = UNITS.find(([size]) => place >= size);
  if (found === undefined) return "0";
  const [size, name] = found;
  return `${Number((place / size).toFixed(Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9))))} ${name}`;
}

/** 1, 2 or 5 times a power of ten. */
function roundStep(wish: number): number {
  const power = 10 ** Math.floor(Math.log10(wish));
  return ([1, 2, 5].find((factor) => factor * power >= wish) ?? 10) * power;
}
