// Where the bytes of a file, or of all, go: one bar, with every part named below it.

import { bytes } from "../format";
import { purpose, PURPOSES } from "./inspectWords";

export interface Space { use: string; bytes: number }

/** Parts of a whole in the order of the bars. */
function ordered(space: readonly Space[]): Space[] {
  const place = (use: string) => PURPOSES.findIndex(({ id }) => id === use);
  return space.filter((part) => part.bytes > 0).sort((a, b) => place(a.use) - place(b.use));
}

export function SpaceBar({ space, scale = 1 }: { space: readonly Space[]; scale?: number }) {
  const whole = space.reduce((sum, part) => sum + part.bytes, 0);
  const parts = ordered(space);
  const share = (part: Space) => `${whole === 0 ? 0 : ((100 * part.bytes) / whole).toFixed(part.bytes * 100 < whole ? 2 : 0)} %`;
  const sentence = parts.map((part) => `${purpose(part.use).label} ${bytes(part.bytes)}, ${share(part)}`).join("; ");
  return (
    <div class="report-space">
      <div class="strip" role="img" aria-label={sentence} style={{ width: `${Math.max(0.5, 100 * scale)}%` }}>
        {parts.map((part) => (
          <span key={part.use} title={`${purpose(part.use).label}: ${bytes(part.bytes)}, ${share(part)}`} style={{ width: `${(100 * part.bytes) / Math.max(whole, 1)}%`, background: purpose(part.use).colour }} />
        ))}
      </div>
    </div>
  );
}

/** Parts with swatch, name and size, the largest first. */
export function SpaceLegend({ space }: { space: readonly Space[] }) {
  const whole = space.reduce((sum, part) => sum + part.bytes, 0);
  return (
    <ul class="report-legend" aria-label="Sizes by kind">
      {ordered(space).map((part) => (
        <li key={part.use}>
          <span class="report-swatch" aria-hidden="true" style={{ background: purpose(part.use).colour }} /> {purpose(part.use).label} <strong>{bytes(part.bytes)}</strong> ({whole === 0 ? 0 : ((100 * part.bytes) / whole).toFixed(1)} %)
        </li>
      ))}
    </ul>
  );
}

/** All parts of several files added up. */
export function addSpaces(spaces: readonly (readonly Space[])[]): Space[] {
  const sums = new Map<string, number>();
  for (const space of spaces) for (const part of space) sums.set(part.use, (sums.get(part.use) ?? 0) + part.bytes);
  return [...sums].map(([use, all]) => ({ use, bytes: all }));
}
