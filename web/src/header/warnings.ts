// What makes figures of a trace less than the whole truth: always in sight.

import type { TraceHead } from "../data/payload";
import { count } from "../format";

/** A sentence each; none for a trace that is whole. */
export function warningsOf({ run }: TraceHead): string[] {
  const warnings = [];
  if (!run.complete) warnings.push("the recording or its writing broke off; what came later is not in it.");
  if (run.lostEvents > 0) warnings.push(`${count(run.lostEvents)} events were lost; sums are too small.`);
  const partial = partialPages(run.pages);
  if (partial !== null) warnings.push(partial);
  return warnings;
}

/** Why not all first touches were seen; null if they were, or if none were asked for. */
export function partialPages(pages: TraceHead["run"]["pages"]): string | null {
  return pages === "fault-around" ? "pages were seen only in part: the kernel mapped up to 15 neighbours with each, and those show no touch of their own." : null;
}
