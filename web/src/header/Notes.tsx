// How a run was recorded, and what the recorder said about it; folded, since there may be a note for each process.

import type { Trace } from "../data/trace";
import { visible } from "../names";
import { Sentence } from "../parts/Sentence";
import { TraceBadge } from "../parts/TraceBadge";

export function Notes({ traces }: { traces: Trace[] }) {
  const all = traces.reduce((sum, { head }) => sum + head.run.notes.length, 0);
  const notes = all === 0 ? "" : all === 1 ? ", and 1 note" : `, and ${all} notes`;
  return (
    <details class="notes">
      <summary>How it was recorded{notes}</summary>
      {traces.map(({ head }, trace) => (
        <div key={trace}>
          <p>
            {traces.length > 1 && <TraceBadge trace={trace} />} Recorded: {head.run.layers.join(", ")}; read from <code>{visible(head.source)}</code>.
          </p>
          <ul tabIndex={head.run.notes.length > 4 ? 0 : undefined}>
            {head.run.notes.map((sentence, place) => (
              <li key={place}><Sentence text={sentence} /></li>
            ))}
          </ul>
        </div>
      ))}
    </details>
  );
}
