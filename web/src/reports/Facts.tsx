// A list of facts, name and value; what was not recorded is said to be so.

import type { ComponentChildren } from "preact";

import { visible } from "../names";

export type FactRow = readonly [name: string, value: ComponentChildren | null | undefined];

export function Facts({ rows }: { rows: readonly FactRow[] }) {
  return (
    <dl class="report-facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value === null || value === undefined || value === "" ? <span class="not-recorded">not recorded</span> : typeof value === "string" ? visible(value) : value}</dd>
        </div>
      ))}
    </dl>
  );
}
