// What the colours of phases say: those that occur, in the order of the palette.

import { useMemo } from "preact/hooks";

import type { Lane } from "./lanes";
import { entries } from "../theme";

export function Legend({ lanes }: { lanes: readonly Lane[] }) {
  const { kinds, isRough } = useMemo(() => occurring(lanes), [lanes]);
  const present = entries("phases").filter(({ id }) => kinds.has(id));
  if (present.length === 0) return null;
  return (
    <ul class="legend" aria-label="Colours of phases">
      {present.map(({ id, label }) => (
        <li key={id}>
          <span class="swatch" style={{ background: `var(--phases-${id})` }} aria-hidden="true" />
          {label}
        </li>
      ))}
      {isRough && <li><span class="swatch rough" aria-hidden="true" />end not known exactly</li>}
    </ul>
  );
}

/** Which kinds there are, and whether the end of any is not known exactly. */
function occurring(lanes: readonly Lane[]): { kinds: ReadonlySet<string>; isRough: boolean } {
  const kinds = new Set<string>();
  let isRough = false;
  for (const { phases } of lanes) {
    for (const { phase } of phases) {
      kinds.add(phase.kind);
      isRough ||= phase.known !== "exactly";
    }
  }
  return { kinds, isRough };
}
