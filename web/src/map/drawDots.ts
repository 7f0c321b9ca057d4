// The dots themselves: as pixels where there are many, as shapes with names where there are few.

import { DOT_KINDS, type DotKind } from "../data/trace";
import { shortened } from "../names";
import { colour, entries, ink, isDark } from "../theme";
import { CHANGES, type Difference } from "./difference";
import { type Dots, firstAtLeast } from "./dots";
import { fontOf, type Frame, type FreeBoxes, haloed, xOf, yOf } from "./frame";
import { dotSize, pixelWord, Raster } from "./raster";
import { MOST_SHAPES, Sprites } from "./sprites";

/** More dots than this cover one another. */
const CROWD = 200_000;

/** Labels are drawn when so few dots are in view. */
const MOST_LABELS = 400;

/** Lines from old to new moments are drawn when so few pages moved. */
const MOST_LINES = 400;

export interface DotLayer {
  dots: Dots;
  /** The second trace's dots are hollow, and lighter as pixels. */
  isSecond: boolean;
  /** What is written beside a dot; "" for nothing. */
  label: (row: number) => string;
}

/** Draws dots; keeps what it draws with between frames. */
export class DotPainter {
  private readonly raster = new Raster();
  private readonly layer = document.createElement("canvas");
  private readonly words = new Uint32Array(256);
  private readonly ranks = new Uint8Array(DOT_KINDS.length);
  private sprites: { filled: Sprites; hollow: Sprites; key: string } | null = null;

  /** All layers, the last one on top. */
  paint(frame: Frame, layers: readonly DotLayer[], free: FreeBoxes): void {
    const seen = layers.map(({ dots }) => inView(dots, frame, MOST_SHAPES + 1));
    if (seen.reduce((sum, count) => sum + count, 0) <= MOST_SHAPES) this.paintShapes(frame, layers, free);
    else this.paintPixels(frame, layers);
  }

  /** What differs: colours of the traces for what only one has, faint for what stayed. */
  paintDifference(frame: Frame, { dots, to }: Difference): void {
    const last = firstAtLeast(dots.at, dots.count, frame.end);
    const moved = CHANGES.indexOf("moved");
    const { context } = frame;
    const isDrawn = (nth: number) => {
      const place = dots.place[nth] ?? 0;
      return dots.kind[nth] === moved && place >= frame.low && place <= frame.high && Math.max(to[nth] ?? 0, dots.at[nth] ?? 0) >= frame.begin;
    };
    let lines = 0;
    for (let nth = 0; nth < last && lines <= MOST_LINES; nth += 1) if (isDrawn(nth)) lines += 1;
    if (lines <= MOST_LINES) {
      context.strokeStyle = ink("muted");
      context.lineWidth = frame.ratio;
      context.beginPath();
      for (let nth = 0; nth < last; nth += 1) {
        if (!isDrawn(nth)) continue;
        const y = Math.round(yOf(frame, dots.place[nth] ?? 0)) + 0.5;
        context.moveTo(xOf(frame, dots.at[nth] ?? 0), y);
        context.lineTo(xOf(frame, to[nth] ?? 0), y);
      }
      context.stroke();
    }
    this.words[1] = pixelWord(ink("elsewhere"), 0.55);
    this.words[2] = pixelWord(ink("text"), 0.9);
    this.words[3] = pixelWord(colour("traces", "b"));
    this.words[4] = pixelWord(colour("traces", "a"));
    CHANGES.forEach((change, nth) => (this.ranks[nth] = { same: 1, moved: 2, new: 3, gone: 4 }[change]));
    const few = inView(dots, frame, MOST_SHAPES + 1) <= MOST_SHAPES;
    this.begin(frame);
    this.raster.put(dots, frame, Math.round((few ? 5 : 3) * frame.ratio), this.ranks);
    this.finish(frame);
  }

  private paintPixels(frame: Frame, layers: readonly DotLayer[]): void {
    this.begin(frame);
    const most = Math.max(...layers.map(({ dots }) => firstAtLeast(dots.at, dots.count, frame.end) - firstAtLeast(dots.at, dots.count, frame.begin)));
    // Where dots cover one another anyway, larger ones on a finer screen would only cost time.
    const size = Math.max(1, Math.min(Math.round(dotSize(most) * frame.ratio), most > CROWD ? 2 : 12));
    for (const { dots, isSecond } of layers) {
      DOT_KINDS.forEach((kind, nth) => {
        // Kinds of more weight stand first in the palette; the second trace lies below the first.
        const rank = DOT_KINDS.length - nth + (isSecond ? 0 : DOT_KINDS.length);
        this.ranks[nth] = rank;
        this.words[rank] = pixelWord(colour("dots", kind), isSecond ? 0.45 : 1);
      });
      this.raster.put(dots, frame, size, this.ranks);
    }
    this.finish(frame);
  }

  private begin(frame: Frame): void {
    this.raster.begin(frame.width, frame.height);
    this.words[0] = 0;
  }

  private finish(frame: Frame): void {
    if (this.layer.width !== frame.width) this.layer.width = frame.width;
    if (this.layer.height !== frame.height) this.layer.height = frame.height;
    this.layer.getContext("2d")?.putImageData(this.raster.picture(this.words), 0, 0);
    frame.context.drawImage(this.layer, frame.left, frame.top);
  }

  private paintShapes(frame: Frame, layers: readonly DotLayer[], free: FreeBoxes): void {
    const { context } = frame;
    const all = layers.reduce((sum, { dots }) => sum + inView(dots, frame, MOST_SHAPES), 0);
    const radius = (all > 800 ? 2.4 : all > 200 ? 3.2 : 4.2) * frame.ratio;
    const { filled, hollow } = this.spritesOf(radius);
    for (const { dots, isSecond } of layers) {
      const sprites = isSecond ? hollow : filled;
      forEachInView(dots, frame, (nth) => {
        const kind = dots.kind[nth] ?? 0;
        const x = xOf(frame, dots.at[nth] ?? 0);
        const y = yOf(frame, dots.place[nth] ?? 0);
        const reach = dots.reach[nth] ?? 0;
        if (reach > 0) {
          const top = yOf(frame, (dots.place[nth] ?? 0) + reach);
          context.fillStyle = colour("dots", DOT_KINDS[kind] ?? "other");
          context.fillRect(x - frame.ratio, top, 2 * frame.ratio, y - top);
        }
        sprites.put(context, kind, x, y);
      });
    }
    for (const layer of layers) this.paintLabels(frame, layer, radius, free);
  }

  private paintLabels(frame: Frame, { dots, label }: DotLayer, radius: number, free: FreeBoxes): void {
    if (inView(dots, frame, MOST_LABELS + 1) > MOST_LABELS) return;
    const { context } = frame;
    context.font = fontOf(frame, 10);
    context.textBaseline = "middle";
    const half = 6 * frame.ratio;
    forEachInView(dots, frame, (nth) => {
      const text = shortened(label(dots.row[nth] ?? 0), 48);
      if (text === "") return;
      const x = xOf(frame, dots.at[nth] ?? 0) + radius + 4 * frame.ratio;
      const y = yOf(frame, dots.place[nth] ?? 0);
      const end = x + context.measureText(text).width;
      if (end > frame.left + frame.width - 4 * frame.ratio || !free.take(x, y - half, end, y + half)) return;
      haloed(frame, text, x, y, ink("text"), ink("background"));
    });
  }

  private spritesOf(radius: number): { filled: Sprites; hollow: Sprites } {
    const key = `${radius} ${isDark.value}`;
    if (this.sprites?.key !== key) {
      const [dark, background] = [isDark.value, ink("background")];
      this.sprites = { key, filled: new Sprites(radius, false, dark, background), hollow: new Sprites(radius, true, dark, background) };
    }
    return this.sprites;
  }
}

/** How many dots are in view; stops counting at `most`. */
export function inView(dots: Dots, view: { begin: number; end: number; low: number; high: number }, most: number): number {
  const first = firstAtLeast(dots.at, dots.count, view.begin);
  const last = firstAtLeast(dots.at, dots.count, view.end);
  let count = 0;
  for (let nth = first; nth < last && count < most; nth += 1) {
    const place = dots.place[nth] ?? 0;
    if (place + (dots.reach[nth] ?? 0) >= view.low && place <= view.high) count += 1;
  }
  return count;
}

/** Calls `visit` for each dot in view, the weightiest kinds last. */
function forEachInView(dots: Dots, view: Frame, visit: (nth: number) => void): void {
  const air = ((view.end - view.begin) / view.width) * 8 * view.ratio;
  const first = firstAtLeast(dots.at, dots.count, view.begin - air);
  const last = firstAtLeast(dots.at, dots.count, view.end + air);
  const weighty: number[] = [];
  for (let nth = first; nth < last; nth += 1) {
    const place = dots.place[nth] ?? 0;
    if (place + (dots.reach[nth] ?? 0) < view.low || place > view.high) continue;
    if (dots.kind[nth] === 0) weighty.push(nth);
    else visit(nth);
  }
  weighty.forEach(visit);
}

/** Kinds of dots with their labels, in the palette's order. */
export function dotKinds(): { id: DotKind; label: string; shape: string }[] {
  return DOT_KINDS.map((id) => {
    const found = entries("dots").find((candidate) => candidate.id === id);
    return { id, label: found?.label ?? id, shape: found?.shape ?? "circle" };
  });
}
