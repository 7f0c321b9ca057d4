// The top of a page: what was started, when, on what, and what the reader must know before believing a figure.

import type { PageHead } from "../data/payload";
import type { Trace } from "../data/trace";
import { baseName, visible } from "../names";
import { Notes } from "./Notes";
import { RunFacts } from "./RunFacts";
import { warningsOf } from "./warnings";

/** The programs, without their arguments. */
function headingOf(page: PageHead, traces: Trace[]): string {
  const [first, second] = traces.map(({ head }) => baseName(head.run.command[0] ?? ""));
  if (first === undefined || first === "") return visible(page.title);
  if (second === undefined) return `Start of ${first}`;
  return first === second ? `Two starts of ${first}` : `Starts of ${first} and ${second}`;
}

export function Header({ page, traces }: { page: PageHead; traces: Trace[] }) {
  const several = traces.length > 1;
  const warnings = traces.flatMap(({ head }, trace) => warningsOf(head).map((sentence) => ({ trace: several ? trace : null, sentence })));
  return (
    <header class="page-head">
      <h1>{headingOf(page, traces)}</h1>
      <div class="runs">
        {traces.map(({ head }, trace) => (
          <RunFacts key={trace} head={head} trace={several ? trace : null} />
        ))}
      </div>
      {warnings.length > 0 && (
        <ul class="warnings" aria-label="Warnings">
          {warnings.map(({ trace, sentence }) => (
            <li key={`${trace}${sentence}`}>
              <strong>Note well{trace === null ? "" : `, ${trace === 0 ? "A" : "B"}`}:</strong> {sentence}
            </li>
          ))}
        </ul>
      )}
      <Notes traces={traces} />
    </header>
  );
}
