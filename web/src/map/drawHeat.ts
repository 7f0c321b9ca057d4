// Draws the heat strip: a cell for each page.

import { count } from "../format";
import { colour, ink, isDark } from "../theme";
import { cellPlace, type HeatLayout, NAME_WIDTH } from "./heat";
import { HEAT_STEPS, heatColours } from "./heatScale";

/** What cells say: the moment in one of the traces, or which of them touched the page. */
export type HeatMode = "first" | "second" | "difference";

export interface HeatData {
  layout: HeatLayout;
  /** What happened to pages: "touched" or "read". */
  use: "touched" | "read";
  moments: Float64Array;
  second: Float64Array | null;
  mode: HeatMode;
  /** The moments of the scale's ends. */
  range: readonly [number, number];
}

export function drawHeat(context: CanvasRenderingContext2D, { layout, moments, second, mode, range }: HeatData, width: number): void {
  const colours = heatColours(isDark.value);
  const { cell } = layout;
  const size = cell > 5 ? cell - 1 : cell - 0.5;
  const shown = mode === "second" && second ? second : moments;
  const [early, late] = range;
  const tints = { both: ink("elsewhere"), first: colour("traces", "a"), second: colour("traces", "b") };
  for (const block of layout.blocks) {
    const { firstPage, pages } = block;
    const middle = block.top + 8;
    const number = mode === "second" ? (block.touchedSecond ?? 0) : block.touched;
    const share = mode === "difference" && block.touchedSecond !== null
      ? `A ${count(block.touched)}, B ${count(block.touchedSecond)} of ${count(pages)}`
      : `${count(number)} of ${count(pages)} ${pages === 1 ? "page" : "pages"}, ${shareText(number, pages)}`;
    context.fillStyle = ink("muted");
    context.textAlign = "right";
    context.fillText(share, NAME_WIDTH - 10, middle);
    context.textAlign = "left";
    for (let page = firstPage; page < firstPage + pages; page += 1) {
      const [x, y] = cellPlace(layout, block, page);
      if (x > width) continue;
      const at = shown[page] ?? Infinity;
      if (mode === "difference" && second) {
        const [inFirst, inSecond] = [(moments[page] ?? Infinity) < Infinity, (second[page] ?? Infinity) < Infinity];
        if (inFirst || inSecond) {
          context.fillStyle = inFirst && inSecond ? tints.both : inFirst ? tints.first : tints.second;
          context.fillRect(x, y, size, size);
          continue;
        }
      } else if (at < Infinity) {
        const step = Math.floor((Math.min(Math.max(at - early, 0), late - early) / Math.max(late - early, 1)) * (HEAT_STEPS - 1));
        context.fillStyle = colours[step] ?? "#808080";
        context.fillRect(x, y, size, size);
        continue;
      }
      // Untouched: an outline, a dot where cells are tiny.
      context.fillStyle = ink("line");
      if (cell >= 6) {
        context.strokeStyle = ink("line");
        context.lineWidth = 1;
        context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
      } else context.fillRect(x + size / 2 - 0.75, y + size / 2 - 0.75, 1.5, 1.5);
    }
  }
}

/** Neither something as nothing nor less than all as all. */
export function shareText(part: number, whole: number): string {
  const percent = (100 * part) / whole;
  if (part > 0 && percent < 1) return "<1 %";
  if (part < whole && percent > 99) return ">99 %";
  return `${Math.round(percent)} %`;
}
