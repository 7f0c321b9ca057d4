// Puts one frame of the map together: ground, dots, names, in this order.

import type uPlot from "uplot";

import { KIND, PAGE_SIZE } from "../data/trace";
import { ink } from "../theme";
import type { Difference } from "./difference";
import type { Dots } from "./dots";
import { type DotLayer, DotPainter, inView } from "./drawDots";
import { drawBands, drawGaps, drawMoment, drawPages, drawSectionNames } from "./drawGround";
import { drawSymbols } from "./drawSymbols";
import { type CategoryTimes, countColumns, type Gap, gaps } from "./elsewhere";
import { type Frame, FreeBoxes } from "./frame";
import { drawInitialisers, type PlacedInitialiser } from "./initialisers";
import { type ComparisonMode, isShownIn, type MapModel } from "./model";
import { MOST_SHAPES } from "./sprites";
import { symbolName } from "./symbols";

/** Gaps narrower than so many pixels of the page are the ordinary space between two dots. */
const LEAST_GAP = 4;

/** What is drawn; a frame reads it and changes nothing of it. */
export interface Scene {
  model: MapModel;
  shown: readonly Dots[];
  mode: ComparisonMode;
  difference: Difference | null;
  /** Of the trace that stands in front, the object's own events included. */
  categories: readonly CategoryTimes[];
  /** Whether the gaps between the object's events are shown. */
  hasGaps: boolean;
  /** Of the same trace. */
  initialisers: readonly PlacedInitialiser[];
}

export class MapPainter {
  private readonly dots = new DotPainter();
  private own = new Float64Array(0);
  private others: Float64Array[] = [];

  ground(plot: uPlot, { model, mode, categories, hasGaps }: Scene): void {
    const frame = frameOf(plot);
    const { context } = frame;
    context.save();
    clip(frame);
    drawBands(frame, model.places);
    const main = (mode === "second" ? model.sides[1] : undefined) ?? model.sides[0];
    if (main && hasGaps) {
      const columns = Math.max(1, Math.round(frame.width / frame.ratio));
      drawGaps(frame, this.gapsOf(frame, columns, main.all, main.file.category, categories), columns, categories.map(({ label }) => label));
    }
    drawPages(frame, model.places);
    if (main?.trace.head.run.readyAt != null) drawMoment(frame, main.trace.head.run.readyAt, ink("muted"));
    context.restore();
  }

  foreground(plot: uPlot, { model, shown, mode, difference, initialisers }: Scene): void {
    const frame = frameOf(plot);
    const { context } = frame;
    context.save();
    clip(frame);
    const first = model.sides[0];
    if (first) drawSymbols(frame, first, pageHeight(frame) > 13 ? 130 : 4);
    const free = new FreeBoxes();
    const layers = layersOf(model, shown, mode);
    const dotsInView = initialisers.length === 0 ? 0 : layers.reduce((sum, { dots }) => sum + inView(dots, frame, MOST_SHAPES + 1), 0);
    const writeNames = drawInitialisers(frame, initialisers, dotsInView, free);
    if (mode === "difference" && difference) this.dots.paintDifference(frame, difference);
    else this.dots.paint(frame, layers, free);
    writeNames();
    drawSectionNames(frame, model.places);
    context.restore();
    context.fillStyle = ink("line");
    context.fillRect(frame.left, frame.top + frame.height - frame.ratio, frame.width, frame.ratio);
  }

  /** Columns without the object's events, but with those of others. */
  private gapsOf(frame: Frame, columns: number, all: Dots, category: string, categories: readonly CategoryTimes[]): Gap[] {
    if (this.own.length !== columns || this.others.length !== categories.length) {
      this.own = new Float64Array(columns);
      this.others = categories.map(() => new Float64Array(columns));
    }
    countColumns(all.at, frame.begin, frame.end, this.own);
    categories.forEach(({ id, times }, nth) => {
      const counts = this.others[nth];
      if (counts === undefined) return;
      countColumns(times, frame.begin, frame.end, counts);
      if (id === category) for (let column = 0; column < columns; column += 1) counts[column] = (counts[column] ?? 0) - (this.own[column] ?? 0);
    });
    return gaps(this.own, this.others, LEAST_GAP);
  }
}

/** Which dots lie over which. */
function layersOf(model: MapModel, shown: readonly Dots[], mode: ComparisonMode): DotLayer[] {
  const layers = model.sides.flatMap(({ number, trace }, nth) => {
    const dots = shown[nth];
    if (dots === undefined || !isShownIn(mode, number)) return [];
    // What did it says most about code; of all else the page's own names stand at the edge.
    const label = (row: number) => ((trace.kind[row] ?? 0) === KIND.function && (trace.code[row] ?? 0) > 0 ? symbolName(trace, (trace.code[row] ?? 1) - 1) : "");
    return [{ dots, isSecond: number === 1 && mode !== "second", label }];
  });
  return layers.reverse();
}

/** The plot as it is now, in pixels of the screen. */
function frameOf(plot: uPlot): Frame {
  const { left, top, width, height } = plot.bbox;
  const [x, y] = [plot.scales["x"], plot.scales["y"]];
  return {
    context: plot.ctx, left: Math.round(left), top: Math.round(top), width: Math.round(width), height: Math.round(height),
    ratio: plot.ctx.canvas.width / plot.width,
    begin: x?.min ?? 0, end: x?.max ?? 1, low: y?.min ?? 0, high: y?.max ?? 1,
  };
}

function pageHeight(frame: Frame): number {
  return ((PAGE_SIZE / (frame.high - frame.low)) * frame.height) / frame.ratio;
}

function clip({ context, left, top, width, height }: Frame): void {
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
}

