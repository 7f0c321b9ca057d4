// How many first touches fall on each stretch of the whole time.

import type { Trace } from "../data/trace";
import { KIND } from "../data/trace";

/** A trace without pages has calls of functions, and reads: these are counted then. */
export function hasTouches({ kind }: Pick<Trace, "kind">): boolean {
  return kind.some((value) => value < KIND.function);
}

/** One count for each of `bins` equal stretches of the range; only of processes that `processes` says so of, unless it is null. */
export function density({ at, kind, thread, head }: Trace, range: readonly [number, number], bins: number, processes: readonly boolean[] | null): Float64Array {
  const counts = new Float64Array(bins);
  const factor = bins / (range[1] - range[0]);
  const isOf = processes === null ? null : head.threads.map(({ process }) => processes[process] === true);
  const limit = hasTouches({ kind }) ? KIND.function : KIND.fill;
  for (let event = 0; event < kind.length; event += 1) {
    if ((kind[event] ?? 0) >= limit || (isOf !== null && !isOf[thread[event] ?? 0])) continue;
    const bin = Math.min(Math.max(Math.floor(((at[event] ?? 0) - range[0]) * factor), 0), bins - 1);
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return counts;
}
