// The kinds of dots with their numbers: each a switch that shows or hides it.

import { count } from "../format";
import { hiddenDots } from "../state";
import { letterOf } from "../parts/TraceBadge";
import { colour } from "../theme";
import type { DotKind } from "../data/trace";
import { dotKinds } from "./drawDots";
import { DotShape } from "./DotShape";
import { isKnown, type MapModel } from "./model";

/** What must have been recorded to see dots of a kind; of all others, touches. */
const RECORDED = { call: "read", function: "called", fill: "filled" } as Partial<Record<DotKind, "read" | "called" | "filled">>;

export function DotLegend({ model }: { model: MapModel }) {
  const number = (kind: DotKind) => model.sides.map((side) => `${model.isComparison ? `${letterOf(side.number)} ` : ""}${isKnown(side.trace, RECORDED[kind] ?? "touched") ? count(side.counts.get(kind) ?? 0) : "–"}`).join(", ");
  const kinds = dotKinds().filter(({ id }) => model.sides.some((side) => (side.counts.get(id) ?? 0) > 0));
  const toggle = (kind: DotKind) => {
    const hidden = new Set(hiddenDots.value);
    if (!hidden.delete(kind)) hidden.add(kind);
    hiddenDots.value = hidden;
  };
  return (
    <div class="dot-legend" role="group" aria-label={`Kinds of events on the map${model.sides.length > 1 ? ", numbers of A and B" : ""}`}>
      {kinds.map(({ id, label, shape }) => (
        <button key={id} type="button" aria-pressed={!hiddenDots.value.has(id)} onClick={() => toggle(id)}>
          <DotShape shape={shape} colour={colour("dots", id)} />
          {label} <span class="number">{number(id)}</span>
        </button>
      ))}
    </div>
  );
}
