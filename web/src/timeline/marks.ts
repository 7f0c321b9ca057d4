// Moments that matter more than others: when the program was ready, and when the recording ended.

import type { Trace } from "../data/trace";
import { time } from "../format";
import { colour, ink } from "../theme";

export interface Mark {
  at: number;
  label: string;
  colour: () => string;
  dashed: boolean;
  trace: number;
}

export function marksOf(traces: readonly Trace[]): Mark[] {
  return traces.flatMap(({ head }, trace) => {
    const several = traces.length > 1;
    const letter = several ? `${trace === 0 ? "A" : "B"} ` : "";
    const of = () => (several ? colour("traces", trace === 0 ? "a" : "b") : ink("text"));
    const { readyAt, endedAt } = head.run;
    const marks: Mark[] = [];
    if (readyAt !== null) marks.push({ at: readyAt, label: `${letter}ready ${time(readyAt)}`, colour: of, dashed: false, trace });
    if (readyAt === null || Math.abs(endedAt - readyAt) > 1e3) marks.push({ at: endedAt, label: `${letter}end ${time(endedAt)}`, colour: of, dashed: true, trace });
    return marks;
  });
}
