// Processes as the page counts and shows them: whose events are shown when one process is chosen: its own and, in the other trace, those of the same program, since processes of two starts
// have different numbers.

import type { TraceHead } from "./data/payload";
import type { Trace } from "./data/trace";
import { baseName } from "./names";
import type { ChosenProcess } from "./state";

/** How many processes there were: one that executes another program stands in the head twice and is still one, as in the figures. */
export function processCount({ processes }: Pick<TraceHead, "processes">): number {
  return processes.filter(({ number, parent }) => parent === null || processes[parent]?.number !== number).length;
}

/** For each process of a trace whether it is shown; null: all are. */
export function shownProcesses(traces: readonly Trace[], trace: number, chosen: ChosenProcess | null): boolean[] | null {
  const processes = traces[trace]?.head.processes;
  if (chosen === null || processes === undefined) return null;
  if (chosen.trace === trace) return processes.map((_, place) => place === chosen.place);
  const program = traces[chosen.trace]?.head.processes[chosen.place]?.program ?? "";
  const same = processes.map((process) => process.program === program);
  if (same.includes(true)) return same;
  // Changed programs are compared from copies in other directories.
  return processes.map((process) => baseName(process.program) === baseName(program));
}

/** For each thread of a trace whether its events are shown; null: all are. */
export function shownThreads(traces: readonly Trace[], trace: number, chosen: ChosenProcess | null): Uint8Array | null {
  const shown = shownProcesses(traces, trace, chosen);
  return shown && Uint8Array.from(traces[trace]?.head.threads ?? [], ({ process }) => (shown[process] === true ? 1 : 0));
}

/** Whose events are shown: "only those of soffice.bin (970) in A and of the same program in B". */
export function processWords(traces: readonly Trace[], { trace, place }: ChosenProcess): string {
  const process = traces[trace]?.head.processes[place];
  if (process === undefined) return "only those of a process that is not known";
  const letters = trace === 0 ? ["A", "B"] : ["B", "A"];
  return `only those of ${baseName(process.program)} (${process.number})${traces.length > 1 ? ` in ${letters[0]} and of the same program in ${letters[1]}` : ""}`;
}
