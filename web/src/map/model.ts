// What the map, the heat strip and the table of pages show: the object that is chosen, on its axis, and which of its dots. Made anew only
// when the choice changes, and once for all three panels.

import type { FileHead, PageHead } from "../data/payload";
import { DOT_KINDS, type DotKind, type Trace } from "../data/trace";
import { difference, type Difference, placeMover } from "./difference";
import { shownThreads } from "../processes";
import { type ChosenFile, type ChosenProcess, movedBy, wholeTime } from "../state";
import { countKinds, type Dots, dotsOf, filterDots, pagesSeen } from "./dots";
import { Places } from "./places";

/** One trace's part of the map. */
export interface MapSide {
  trace: Trace;
  /** 0 or 1. */
  number: number;
  file: FileHead;
  /** A place in that trace's files. */
  filePlace: number;
  /** Of its own file, to name what stands on its pages. */
  places: Places;
  /** On the map's axis. */
  all: Dots;
  counts: ReadonlyMap<DotKind, number>;
}

export interface MapModel {
  traces: readonly Trace[];
  /** The map's axis: that of the first side's file. */
  places: Places;
  /** The traces that have this file: both, or one of them. */
  sides: MapSide[];
  /** Two traces are compared, whether the second has this file or not. */
  isComparison: boolean;
}

export type ComparisonMode = "both" | "first" | "second" | "difference";

/** The map of a file. */
export const modelOf = remembering((page: PageHead, traces: readonly Trace[], { trace, place }: ChosenFile): MapModel | null => {
  const first = traces[trace];
  const file = first?.file(place);
  if (first === undefined || file === undefined) return null;
  const places = new Places(file, pagesSeen(first, file));
  const sides = [side(first, trace, file, place, places, dotsOf(first, file, places))];
  const second = trace === 0 ? traces[1] : undefined;
  const partnerPlace = page.comparison?.partners[place] ?? null;
  const partner = partnerPlace === null ? undefined : second?.file(partnerPlace);
  if (second !== undefined && partner !== undefined && partnerPlace !== null) {
    const own = new Places(partner, pagesSeen(second, partner));
    sides.push(side(second, 1, partner, partnerPlace, own, dotsOf(second, partner, own, placeMover(own, places))));
  }
  return { traces, places, sides, isComparison: traces.length > 1 };
});

function side(trace: Trace, number: number, file: FileHead, filePlace: number, places: Places, all: Dots): MapSide {
  return { trace, number, file, filePlace, places, all, counts: countKinds(all) };
}

/** What can have happened to pages, and which figure is not known where it was not recorded. */
const FIGURES = { touched: "touches.all", called: "functions.all", read: "bytes.read", filled: "bytes.filled" } as const;

/** Whether a kind of event was looked for in a trace: else it says nothing that there is none. */
export function isKnown({ head }: Trace, what: keyof typeof FIGURES): boolean {
  const key = FIGURES[what];
  return head.figures.flatMap(({ figures }) => figures).find((figure) => figure.key === key)?.value !== null;
}

/** Whether what happened to pages in one trace may be held against what happened in the other. */
export function isPair({ sides: [first, second] }: MapModel): boolean {
  if (first === undefined || second === undefined) return false;
  const [inFirst, inSecond] = [isKnown(first.trace, "touched"), isKnown(second.trace, "touched")];
  return inFirst === inSecond && (inFirst || (isKnown(first.trace, "read") && isKnown(second.trace, "read")));
}

/** What is shown of a file: what was asked for, where both traces have it, else the one that has it. */
export function modeOf(model: MapModel, wish: ComparisonMode): ComparisonMode {
  const { sides, isComparison } = model;
  if (isComparison && sides.length > 1) return wish === "difference" && !isPair(model) ? "both" : wish;
  return sides[0]?.number === 1 ? "second" : "first";
}

/** Whether the map shows dots of the trace with that number. */
export function isShownIn(mode: ComparisonMode, number: number): boolean {
  return !(mode === "first" && number === 1) && !(mode === "second" && number === 0);
}

/** The same with the dots of one process only, and of its like in the other trace; null: of all. */
export const ofProcess = remembering((model: MapModel, process: ChosenProcess | null): MapModel => {
  if (process === null) return model;
  const sides = model.sides.map((side) => {
    const threads = shownThreads(model.traces, side.number, process);
    const all = filterDots(side.all, (nth) => threads?.[side.trace.thread[side.all.row[nth] ?? 0] ?? 0] === 1);
    return { ...side, all, counts: countKinds(all) };
  });
  return { ...model, sides };
});

/** The dots of each side that are shown with these kinds hidden and, unless null, of one process only. */
export const shownOf = remembering((model: MapModel, hidden: ReadonlySet<DotKind>, process: ChosenProcess | null): Dots[] => {
  const hides = Uint8Array.from(DOT_KINDS, (kind) => (hidden.has(kind) ? 1 : 0));
  return ofProcess(model, process).sides.map(({ all, counts }) => {
    // Most files have no dot of those kinds.
    if (!DOT_KINDS.some((kind) => hidden.has(kind) && (counts.get(kind) ?? 0) > 0)) return all;
    return filterDots(all, (nth) => hides[all.kind[nth] ?? 0] === 0);
  });
});

/** By how much a page must have moved to be said to, in nanoseconds: what was chosen, or a hundredth of the whole, rounded to a power of ten. */
export function toleranceNow(): number {
  return movedBy.value ?? 10 ** Math.round(Math.log10(Math.max(wholeTime.value[1], 1e5) / 50));
}

/** What differs between both sides; null with one side only. */
export const differenceOf = remembering((shown: readonly Dots[], tolerance: number): Difference | null => {
  const [first, second] = shown;
  return first && second ? difference(first, second, tolerance) : null;
});

/** Remembers the last answer: panels ask for the same thing one after the other. */
function remembering<Arguments extends readonly unknown[], Answer>(make: (...given: Arguments) => Answer): (...given: Arguments) => Answer {
  let last: { given: Arguments; answer: Answer } | null = null;
  return (...given) => {
    if (last === null || given.some((argument, nth) => argument !== last?.given[nth])) last = { given, answer: make(...given) };
    return last.answer;
  };
}
