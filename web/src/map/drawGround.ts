// The ground of the map: sections as bands with their names, grey where the program was busy with other files, lines between pages.

import { count, hex } from "../format";
import { visible } from "../names";
import { PAGE_SIZE } from "../data/trace";
import { colour, ink } from "../theme";
import type { Gap } from "./elsewhere";
import { fontOf, type Frame, FreeRows, haloed, xOf, yOf } from "./frame";
import type { Places } from "./places";

/** Bands of sections, edge to edge; memory with a line below it. */
export function drawBands(frame: Frame, places: Places): void {
  const { context, left, width } = frame;
  context.fillStyle = ink("surface");
  context.fillRect(left, frame.top, width, frame.height);
  for (const band of places.bands) {
    if (band.end <= frame.low || band.begin >= frame.high) continue;
    const top = Math.max(yOf(frame, band.end), frame.top);
    const bottom = Math.min(yOf(frame, band.begin), frame.top + frame.height);
    context.fillStyle = colour("sections", band.section.class);
    context.fillRect(left, top, width, Math.max(bottom - top, 0.5));
    if (bottom - top > 3 * frame.ratio && band.begin > frame.low) {
      context.fillStyle = ink("line");
      context.fillRect(left, Math.round(bottom), width, frame.ratio);
    }
  }
  if (places.end > places.fileEnd && places.fileEnd > frame.low && places.fileEnd < frame.high) {
    context.strokeStyle = ink("muted");
    context.lineWidth = frame.ratio;
    context.setLineDash([5 * frame.ratio, 3 * frame.ratio]);
    context.beginPath();
    const y = Math.round(yOf(frame, places.fileEnd)) + 0.5;
    context.moveTo(left, y);
    context.lineTo(left + width, y);
    context.stroke();
    context.setLineDash([]);
  }
}

/** Columns in which only other files were used for the first time, light grey, with the category where there is room. */
export function drawGaps(frame: Frame, gaps: readonly Gap[], columns: number, labels: readonly string[]): void {
  const { context, left, top, height } = frame;
  const perColumn = frame.width / columns;
  const isClose = (PAGE_SIZE / (frame.high - frame.low)) * frame.height > 6 * frame.ratio;
  context.fillStyle = ink("elsewhere");
  context.globalAlpha = 0.11;
  for (const gap of gaps) context.fillRect(left + gap.from * perColumn, top, (gap.to - gap.from) * perColumn, height);
  context.globalAlpha = 1;
  context.font = fontOf(frame, 10);
  context.textBaseline = "bottom";
  context.textAlign = "center";
  context.fillStyle = ink("muted");
  for (const gap of gaps) {
    const room = (gap.to - gap.from) * perColumn;
    if (room < 60 * frame.ratio) continue;
    const label = `in other files: ${labels[gap.category] ?? ""}`;
    const shorter = labels[gap.category] ?? "";
    const text = context.measureText(label).width < room - 8 * frame.ratio ? label : shorter;
    const from = ((gap.from + gap.to) / 2) * perColumn - context.measureText(text).width / 2;
    // Numbers of pages and names of symbols stand at the left.
    if (from < (isClose ? 250 * frame.ratio : 0)) continue;
    if (context.measureText(text).width < room) context.fillText(text, left + ((gap.from + gap.to) / 2) * perColumn, top + height - 3 * frame.ratio);
  }
  context.textAlign = "left";
}

/** Lines between pages, and their numbers once there is room. */
export function drawPages(frame: Frame, places: Places): void {
  const pageHeight = (PAGE_SIZE / (frame.high - frame.low)) * frame.height;
  if (pageHeight < 6 * frame.ratio) return;
  const { context, left, width } = frame;
  context.fillStyle = ink("line");
  context.globalAlpha = Math.min(1, pageHeight / (24 * frame.ratio));
  const first = Math.ceil(frame.low / PAGE_SIZE);
  for (let page = first; page * PAGE_SIZE < frame.high; page += 1) context.fillRect(left, Math.round(yOf(frame, page * PAGE_SIZE)), width, frame.ratio);
  context.globalAlpha = 1;
  if (pageHeight < 13 * frame.ratio) return;
  context.font = fontOf(frame, 10);
  context.textBaseline = "bottom";
  context.fillStyle = ink("muted");
  context.textAlign = "left";
  for (let page = first - 1; page * PAGE_SIZE < frame.high; page += 1) {
    const { page: number, isMemory } = places.pageAt(page * PAGE_SIZE);
    const y = yOf(frame, page * PAGE_SIZE) - 1 * frame.ratio;
    if (y > frame.top + frame.height || y - 11 * frame.ratio < frame.top) continue;
    context.fillText(isMemory ? `memory ${hex(number * PAGE_SIZE)}` : `page ${count(number)}  ${hex(number * PAGE_SIZE)}`, left + 4 * frame.ratio, y);
  }
}

/** Names of sections at the right edge, where they fit. */
export function drawSectionNames(frame: Frame, places: Places): void {
  const { context } = frame;
  context.font = fontOf(frame, 11);
  context.textBaseline = "middle";
  context.textAlign = "right";
  const rows = new FreeRows();
  const half = 6.5 * frame.ratio;
  const right = frame.left + frame.width - 5 * frame.ratio;
  // Tall ones first: they are what one looks for.
  const bands = places.bands.filter((band) => band.end > frame.low && band.begin < frame.high).sort((first, second) => second.end - second.begin - (first.end - first.begin));
  for (const band of bands) {
    const top = Math.max(yOf(frame, band.end), frame.top);
    const bottom = Math.min(yOf(frame, band.begin), frame.top + frame.height);
    const middle = (top + bottom) / 2;
    if (bottom - top < 9 * frame.ratio || !rows.take(middle - half, middle + half)) continue;
    const name = visible(band.section.name);
    haloed(frame, band.section.zeroFilled ? `${name} (memory)` : name, right, middle, ink("text"), colour("sections", band.section.class));
  }
  context.textAlign = "left";
}

/** A line for a moment, with a word at its foot. */
export function drawMoment(frame: Frame, moment: number, tint: string): void {
  const x = Math.round(xOf(frame, moment));
  if (x < frame.left || x > frame.left + frame.width) return;
  frame.context.fillStyle = tint;
  frame.context.fillRect(x, frame.top, frame.ratio, frame.height);
}
