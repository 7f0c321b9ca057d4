// What stands beside the pointer when it is at a dot.

import { dotOf } from "../data/trace";
import { TraceBadge } from "../parts/TraceBadge";
import { colour, entry } from "../theme";
import { eventLines } from "./describe";
import { DotShape } from "./DotShape";
import type { MapSide } from "./model";

export interface EventBoxProps {
  side: MapSide;
  row: number;
  /** What became of its page from one trace to the other, where that is what the map shows. */
  change: string | null;
  isComparison: boolean;
}

export function EventBox({ side, row, change, isComparison }: EventBoxProps) {
  const kind = dotOf(side.trace.kind[row] ?? 0);
  const lines = eventLines(side.trace, row, side.places, side.file.events[0]);
  return (
    <>
      <p class="map-tip-head">
        <DotShape shape={entry("dots", kind).shape ?? "circle"} colour={colour("dots", kind)} />
        {entry("dots", kind).label}
        {isComparison && <TraceBadge trace={side.number} />}
      </p>
      <dl>
        {(change === null ? lines : [["page", change] as const, ...lines]).map(([label, text]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
