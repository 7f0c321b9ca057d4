// What all panels share: changing one of these changes every panel that reads it.

import { batch, signal } from "@preact/signals";

import type { DotKind } from "./data/trace";

/** The stretch of time that all panels show, in nanoseconds since the launch. */
export const timeRange = signal<[begin: number, end: number]>([0, 1]);

/** The whole of it, to go back to. */
export const wholeTime = signal<[begin: number, end: number]>([0, 1]);

/** No shorter stretch is shown, in nanoseconds. */
export const LEAST_TIME = 1000;

/** Where the pointer is, in any panel; null: nowhere. */
export const hoverTime = signal<number | null>(null);

/** A file of one of the traces. */
export interface ChosenFile {
  /** 0 or 1; of a file that both have, 0. */
  trace: number;
  /** A place in that trace's files. */
  place: number;
}

/** The file on the map. */
export const selectedFile = signal<ChosenFile>({ trace: 0, place: 0 });

/** The places on the map that are shown, in bytes; null: all. */
export const placeRange = signal<[low: number, high: number] | null>(null);

/** The event whose dot is pointed at or chosen: which trace, which row. */
export const selectedEvent = signal<{ trace: number; row: number } | null>(null);

/** A process of one of the traces. */
export interface ChosenProcess {
  trace: number;
  /** A place in that trace's processes. */
  place: number;
}

/** Only events of this process, and of its like in the other trace; null: all. */
export const selectedProcess = signal<ChosenProcess | null>(null);

/** Kinds of dots that are not shown. */
export const hiddenDots = signal<ReadonlySet<DotKind>>(new Set(["fill"]));

/** With two traces: both over one another, one of them, or what differs. */
export const comparisonMode = signal<"both" | "first" | "second" | "difference">("both");

/** A stretch of places on the map that was gone to, and what it is. */
export interface Mark {
  low: number;
  high: number;
  sentence: string;
}

/** What was gone to; null: nothing. */
export const mark = signal<Mark | null>(null);

/** Pages are said to have moved when they were touched earlier or later by more than this, in nanoseconds; null: a share of the whole time. */
export const movedBy = signal<number | null>(null);

/** Puts a file on the map. Another file's places mean nothing on this one. */
export function chooseFile(file: ChosenFile): void {
  const { trace, place } = selectedFile.peek();
  if (trace === file.trace && place === file.place) return;
  batch(() => {
    selectedFile.value = file;
    placeRange.value = null;
    selectedEvent.value = null;
    mark.value = null;
  });
}

/** Sets the time range, kept inside the whole and never shorter than LEAST_TIME. */
export function showTime(begin: number, end: number): void {
  const [low, high] = wholeTime.value;
  const width = Math.min(Math.max(end - begin, LEAST_TIME), high - low);
  const from = Math.min(Math.max(begin, low), high - width);
  timeRange.value = [from, from + width];
}
