// What the charts and tables of one measurement share: which run is pointed at, and what to say about a run.

import { signal } from "@preact/signals";

import { bytes, count, time } from "../format";
import { visible } from "../names";
import type { Measurement, Sample, State, Summary } from "./types";

/** The number of the run that is pointed at, in any chart or table; null: none. */
export const pointedRun = signal<number | null>(null);

/** Seconds as "12.3 ms". */
export function seconds(value: number): string {
  // Processor time comes in steps, so that zero is common and says nothing about nanoseconds.
  return value === 0 ? "0 s" : time(value * 1e9);
}

/** "340 ms to 376 ms" */
export function span({ low, high }: { low: number; high: number }): string {
  return `${seconds(low)} to ${seconds(high)}`;
}

/** Half an interval's width, as "± 18 ms": so it is printed, and of few runs its ends would be times below zero. */
export function plusMinus({ low, high }: { low: number; high: number }): string {
  return `± ${seconds((high - low) / 2)}`;
}

/** The states that were measured, in order. */
export function statesOf({ summaries }: Measurement): State[] {
  return [...new Set(summaries.map((summary) => summary.state))];
}

export function labelOf(measurement: Measurement, command: number): string {
  return visible(measurement.commands[command]?.label ?? "?");
}

/** Numbers of the runs that lie far from the others. */
export function outliersOf(summaries: readonly Summary[]): ReadonlySet<number> {
  return new Set(summaries.flatMap(({ outliers }) => outliers.map(({ sample }) => sample)));
}

const USES: Record<Sample["used"]["use"], string> = { counted: "counts", "warm-up": "warm-up, does not count", failed: "failed, left out", contradicts: "contradicts its state, left out" };

/** Whether a run counts, and why not. */
function useInWords({ used }: Sample): string {
  const word = USES[used.use] ?? used.use;
  return used.reason === undefined ? word : `${word}: ${visible(used.reason)}`;
}

/** "exited with code 0" */
export function endInWords({ end }: Sample): string {
  switch (end.how) {
    case "exited": return `exited with code ${end.value}`;
    case "signalled": return `ended by signal ${end.value}`;
    case "timed-out": return "not ready within the time limit";
    default: return "ended when it was ready";
  }
}

/** When a run was ready; null where it failed: then its time, if it has one, is when it ended. */
export function readyAfter({ seconds: found, used }: Sample): number | null {
  return used.use === "failed" ? null : found;
}

function timeInWords(run: Sample): string {
  if (run.seconds === null) return "never ready";
  return run.used.use === "failed" ? `ended after ${seconds(run.seconds)}` : seconds(run.seconds);
}

/** What runs beside the axis have in common. */
export function beyondInWords(runs: readonly Sample[]): string {
  return [...new Set(runs.map((run) => (readyAfter(run) === null ? "failed" : "longer")))].sort().join(", ");
}

/** Requests that the disks completed, whoever made them; null: not known. */
export function requestsOf({ devices }: Sample): number | null {
  return devices.length === 0 ? null : devices.reduce((sum, device) => sum + device.requests, 0);
}

/** All that a chart says about a run. */
export function runInWords(measurement: Measurement, run: Sample, isOutlier: boolean): string {
  const parts = [
    `Run ${run.number}, ${labelOf(measurement, run.command)}, ${run.state}: ${timeInWords(run)}`,
    useInWords(run) + (isOutlier ? ", far from the others" : ""),
    run.user_seconds === null || run.system_seconds === null
      ? "processor time not known"
      : `processors ${seconds(run.user_seconds)} in user mode, ${seconds(run.system_seconds)} in the kernel`,
    run.bytes_read === null ? "bytes read not known" : `${bytes(run.bytes_read)} read`,
    run.major_faults === null ? "faults not known" : `${count(run.major_faults)} faults waited for the disk`,
  ];
  if (run.residency !== null) parts.push(`${count(run.residency.resident_pages)} of ${count(run.residency.file_pages)} pages resident before`);
  return parts.join("; ");
}

/** The times that an axis must hold. A warm-up may take many times as long as what counts, and must not squeeze it; nor must a failure. */
export function timesForAxis(runs: readonly Sample[]): number[] {
  const times = (which: readonly Sample[]) => which.flatMap((run) => readyAfter(run) ?? []);
  const others = times(runs.filter(({ used }) => used.use !== "warm-up"));
  const most = others.length === 0 ? Infinity : 1.3 * Math.max(...others);
  return [...others, ...times(runs.filter(({ used }) => used.use === "warm-up")).filter((found) => found <= most)];
}

/** The middle of some values; null without any. */
export function medianOf(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  if (upper === undefined) return null;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}
