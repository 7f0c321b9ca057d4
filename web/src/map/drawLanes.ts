// Draws the lanes above the map: phases, and how busy the program was with files of each category.

import { LEFT_MARGIN } from "../charts/margins";
import { colour, ink, textOn } from "../theme";
import { fitting } from "../timeline/canvas";
import { type Scale, toPixel } from "../timeline/scale";
import { type CategoryTimes, countColumns } from "./elsewhere";
import { FreeRows } from "./frame";
import type { LabelledPhase, PhaseRows } from "./phases";

const PHASE_ROW = 15;
const CATEGORY_ROW = 12;
const GAP = 3;

/** Tones of grey: so many that no step is seen. */
const TONES = 40;

/** Phases narrower than this many pixels get no name. */
const LEAST_LABEL = 30;

/** How high they are, in pixels. */
export function lanesHeight(rows: PhaseRows, categories: readonly CategoryTimes[]): number {
  return phasesHeight(rows) + categories.length * CATEGORY_ROW + GAP * 2;
}

function phasesHeight(rows: PhaseRows): number {
  return (rows.outer.length > 0 ? PHASE_ROW : 0) + (rows.own.length > 0 ? PHASE_ROW : 0);
}

export function drawLanes(context: CanvasRenderingContext2D, scale: Scale, rows: PhaseRows, categories: readonly CategoryTimes[], labels: { outer: string; own: string }, except: { category: string; times: Float64Array }): void {
  let top = 0;
  if (rows.outer.length > 0) {
    drawPhases(context, scale, rows.outer, top, labels.outer);
    top += PHASE_ROW;
  }
  if (rows.own.length > 0) {
    drawPhases(context, scale, rows.own, top, labels.own);
    top += PHASE_ROW;
  }
  top += GAP;
  categories.forEach((category, nth) => drawCategory(context, scale, category, top + nth * CATEGORY_ROW, except.category === category.id ? except.times : null));
}

function drawPhases(context: CanvasRenderingContext2D, scale: Scale, phases: readonly LabelledPhase[], top: number, label: string): void {
  rowLabel(context, label, top + PHASE_ROW / 2);
  const edges = ({ phase }: LabelledPhase): [number, number] => [Math.max(toPixel(scale, phase.begin), scale.left), Math.min(toPixel(scale, phase.end), scale.right)];
  let last = -1;
  for (const each of phases) {
    const [left, right] = edges(each);
    // Of many in one pixel, one is seen.
    if (right < scale.left || left > scale.right || (Math.floor(right) === last && right - left < 1)) continue;
    last = Math.floor(right);
    context.fillStyle = colour("phases", each.phase.kind);
    context.fillRect(left, top, Math.max(right - left - 0.5, 1), PHASE_ROW - 2);
  }
  // Inner phases first: where none of them has room for its name, the outer one's stands over them.
  const free = new FreeRows();
  for (const each of [...phases].reverse()) {
    const [left, right] = edges(each);
    if (right - left < LEAST_LABEL) continue;
    const text = fitting(context, each.label, right - left - 6);
    if (text === "" || !free.take(left + 3, left + 3 + context.measureText(text).width)) continue;
    context.fillStyle = textOn(colour("phases", each.phase.kind));
    context.fillText(text, left + 3, top + PHASE_ROW / 2 - 0.5);
  }
}

/** Grey by how much happened in each pixel; the object's own events are not others'. */
function drawCategory(context: CanvasRenderingContext2D, scale: Scale, { label, times }: CategoryTimes, top: number, own: Float64Array | null): void {
  rowLabel(context, label, top + CATEGORY_ROW / 2);
  const columns = Math.max(1, Math.round(scale.right - scale.left));
  const counts = scratch(0, columns);
  countColumns(times, scale.begin, scale.end, counts);
  if (own !== null) {
    const mine = scratch(1, columns);
    countColumns(own, scale.begin, scale.end, mine);
    for (let column = 0; column < columns; column += 1) counts[column] = (counts[column] ?? 0) - (mine[column] ?? 0);
  }
  context.fillStyle = ink("surface");
  context.fillRect(scale.left, top, scale.right - scale.left, CATEGORY_ROW - 1);
  let most = 0;
  for (const count of counts) most = Math.max(most, count);
  if (most <= 0) return;
  context.fillStyle = ink("text");
  // One event must be seen beside a thousand: the logarithm. Neighbours of one tone are one rectangle.
  const toneOf = (count: number) => (count <= 0 ? 0 : Math.ceil((TONES * Math.log1p(count)) / Math.log1p(Math.max(most, 8))));
  let [from, tone] = [0, 0];
  for (let column = 0; column <= columns; column += 1) {
    const next = column < columns ? toneOf(counts[column] ?? 0) : 0;
    if (next === tone) continue;
    if (tone > 0) {
      context.globalAlpha = 0.22 + 0.63 * (tone / TONES);
      context.fillRect(scale.left + from, top, column - from, CATEGORY_ROW - 1);
    }
    [from, tone] = [column, next];
  }
  context.globalAlpha = 1;
}

function rowLabel(context: CanvasRenderingContext2D, label: string, y: number): void {
  context.fillStyle = ink("muted");
  context.textAlign = "right";
  context.fillText(fitting(context, label, LEFT_MARGIN - 12), LEFT_MARGIN - 8, y);
  context.textAlign = "left";
}

const kept: Float64Array[] = [];

/** Numbers to count in, kept from frame to frame. */
function scratch(nth: number, length: number): Float64Array {
  const found = kept[nth];
  if (found?.length === length) return found;
  return (kept[nth] = new Float64Array(length));
}
