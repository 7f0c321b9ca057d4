// When each page of a section was first touched: cells in rows, wrapped at a multiple of 64 KiB.

import { DOT_KINDS, PAGE_SIZE } from "../data/trace";
import type { Dots } from "./dots";
import type { Band, Places } from "./places";

/** What the strip of a file is of: touches or, where there were none, reads; null: neither. */
export function usesOf(dots: Dots): "touched" | "read" | null {
  const call = DOT_KINDS.indexOf("call");
  const fill = DOT_KINDS.indexOf("fill");
  let isRead = false;
  for (let nth = 0; nth < dots.count; nth += 1) {
    if (dots.kind[nth] === call) isRead = true;
    else if (dots.kind[nth] !== fill) return "touched";
  }
  return isRead ? "read" : null;
}

/** Moments of first touches by page of the axis, or of first reads, as `use` says; Infinity: none. */
export function firstMoments(dots: Dots, places: Places, use = usesOf(dots)): Float64Array {
  const moments = new Float64Array(Math.ceil(places.end / PAGE_SIZE)).fill(Infinity);
  const fill = DOT_KINDS.indexOf("fill");
  // The loader reads an object's first page with read(2): that is no touch.
  const left = use === "touched" ? DOT_KINDS.indexOf("call") : fill;
  for (let nth = 0; nth < dots.count; nth += 1) {
    if (dots.kind[nth] === fill || dots.kind[nth] === left) continue;
    const first = Math.floor((dots.place[nth] ?? 0) / PAGE_SIZE);
    const last = first + (dots.reach[nth] ?? 0) / PAGE_SIZE;
    const at = dots.at[nth] ?? 0;
    for (let page = Math.max(first, 0); page <= last && page < moments.length; page += 1) if (at < (moments[page] ?? 0)) moments[page] = at;
  }
  return moments;
}

/** One section's cells. */
export interface HeatBlock {
  band: Band;
  firstPage: number;
  pages: number;
  touched: number;
  /** Of the second trace; null with one trace. */
  touchedSecond: number | null;
  /** Where it stands, in pixels. */
  top: number;
  rows: number;
  height: number;
}

export interface HeatLayout {
  blocks: HeatBlock[];
  cell: number;
  /** Cells in a row, a multiple of 16: 64 KiB. */
  across: number;
  height: number;
}

/** Room for a section's name and share, in pixels. */
export const NAME_WIDTH = 280;
const LINE = 16;
const GAP = 3;

/** The smallest cells, in pixels. */
const LEAST_CELL = 4;

/** Browsers draw nothing on canvases that are higher, in pixels of the screen (Firefox: 32 767); names of sections take the rest. */
const HIGHEST = 32_000;

/** Whether there is a strip of a file at all: one of many gigabytes, such as a sparse one, has more pages than can be drawn. */
export function isDrawable({ end }: Places, width: number, ratio: number): boolean {
  return (Math.ceil(end / PAGE_SIZE) / acrossOf(width, LEAST_CELL)) * LEAST_CELL * ratio <= HIGHEST;
}

function acrossOf(width: number, cell: number): number {
  return Math.max(16, Math.floor((width - NAME_WIDTH) / cell / 16) * 16);
}

/** Lays sections out one below the other; cells as large as fit into about `wish` pixels of height. */
export function layOutHeat(places: Places, moments: Float64Array, second: Float64Array | null, width: number, wish: number): HeatLayout {
  for (let cell = 10; ; cell -= 1) {
    const layout = withCell(places, moments, second, width, cell);
    if (layout.height <= wish || cell <= LEAST_CELL) return layout;
  }
}

function withCell(places: Places, moments: Float64Array, second: Float64Array | null, width: number, cell: number): HeatLayout {
  const across = acrossOf(width, cell);
  const blocks: HeatBlock[] = [];
  let top = 0;
  for (const band of stretches(places)) {
    const firstPage = Math.floor(band.begin / PAGE_SIZE);
    const pages = Math.max(1, Math.ceil(band.end / PAGE_SIZE) - firstPage);
    const rows = Math.ceil(pages / across);
    const height = Math.max(rows * cell, LINE) + GAP;
    blocks.push({ band, firstPage, pages, rows, top, height, touched: touched(moments, firstPage, pages), touchedSecond: second && touched(second, firstPage, pages) });
    top += height;
  }
  return { blocks, cell, across, height: top };
}

/** Sections; a file without them is one stretch. */
function stretches(places: Places): readonly Band[] {
  if (places.bands.length > 0) return places.bands;
  const section = { name: "the whole file", class: "other", address: 0, offset: 0, size: places.fileEnd, zeroFilled: false, pages: null };
  return [{ section, begin: 0, end: places.fileEnd }];
}

function touched(moments: Float64Array, first: number, pages: number): number {
  let count = 0;
  for (let page = first; page < first + pages; page += 1) if ((moments[page] ?? Infinity) < Infinity) count += 1;
  return count;
}

/** The block and page at a point; null between them. */
export function cellAt(layout: HeatLayout, x: number, y: number): { block: number; page: number } | null {
  const nth = layout.blocks.findIndex(({ top, height }) => y >= top && y < top + height);
  const block = layout.blocks[nth];
  if (block === undefined) return null;
  const column = Math.floor((x - NAME_WIDTH) / layout.cell);
  const row = Math.floor((y - block.top) / layout.cell);
  const page = row * layout.across + column;
  return column < 0 || column >= layout.across || row >= block.rows || page >= block.pages ? null : { block: nth, page: block.firstPage + page };
}

/** Where a page's cell stands. */
export function cellPlace(layout: HeatLayout, block: HeatBlock, page: number): [x: number, y: number] {
  const nth = page - block.firstPage;
  return [NAME_WIDTH + (nth % layout.across) * layout.cell, block.top + Math.floor(nth / layout.across) * layout.cell];
}
