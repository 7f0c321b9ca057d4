// Initialisers on the map: each where its code stands, from when to when it ran, with its name where there is room.

import type { Trace } from "../data/trace";
import { shortened, visible } from "../names";
import { ink } from "../theme";
import { MOST_SHAPES } from "./sprites";
import { fontOf, type Frame, type FreeBoxes, haloed, xOf, yOf } from "./frame";

/** An initialiser of the object on the map. */
export interface PlacedInitialiser {
  begin: number;
  end: number;
  /** Of its first byte, on the map's axis. */
  place: number;
  /** "" where it is not known. */
  name: string;
}

/** Names are drawn when so few are in view, and so few dots that they are shapes. */
const MOST_NAMES = 60;

/** The initialisers of a file in the processes that are shown (null: all). `placeOf` puts an address onto the axis. */
export function initialisersOf({ head }: Trace, filePlace: number, shown: readonly boolean[] | null, placeOf: (address: number) => number | null): PlacedInitialiser[] {
  return head.phases.flatMap(({ kind, file, address, process, begin, end, name }): PlacedInitialiser[] => {
    if (kind !== "initialiser" || file !== filePlace || address === null || shown?.[process] === false) return [];
    const place = placeOf(address);
    return place === null ? [] : [{ begin, end, place, name: name === null ? "" : visible(name) }];
  });
}

/** Draws those in view, and takes room for their names, long ones first; the returned function writes the names, once the dots are drawn. */
export function drawInitialisers(frame: Frame, initialisers: readonly PlacedInitialiser[], dotsInView: number, free: FreeBoxes): () => void {
  const { context, ratio } = frame;
  const seen = initialisers.filter(({ begin, end, place }) => end >= frame.begin && begin <= frame.end && place >= frame.low && place <= frame.high);
  context.fillStyle = ink("text");
  const isCrowd = seen.length > MOST_NAMES;
  for (const { begin, end, place } of seen) {
    const x = xOf(frame, begin);
    const y = Math.round(yOf(frame, place));
    context.fillRect(x, y - (isCrowd ? 0 : 1), Math.max(xOf(frame, end) - x, (isCrowd ? 1.5 : 4) * ratio), (isCrowd ? 1 : 2) * ratio);
    // A foot where it begins, so that a short one is told from a dot.
    if (!isCrowd) context.fillRect(x, y - 4 * ratio, 1.5 * ratio, 8 * ratio);
  }
  if (isCrowd || dotsInView > MOST_SHAPES) return () => undefined;
  const texts: [text: string, x: number, y: number][] = [];
  context.font = fontOf(frame, 10);
  for (const { begin, place, name } of [...seen].sort((left, right) => right.end - right.begin - (left.end - left.begin))) {
    const text = shortened(name, 60);
    const x = Math.max(xOf(frame, begin), frame.left) + 4 * ratio;
    const y = yOf(frame, place) - 2 * ratio;
    const end = x + context.measureText(text).width;
    if (text === "" || end > frame.left + frame.width || !free.take(x, y - 12 * ratio, end, y)) continue;
    texts.push([text, x, y]);
  }
  return () => {
    context.font = fontOf(frame, 10);
    context.textBaseline = "bottom";
    context.textAlign = "left";
    for (const [text, x, y] of texts) haloed(frame, text, x, y, ink("text"), ink("background"));
  };
}
