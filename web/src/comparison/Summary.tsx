// The difference between two starts in a sentence or two, at the top of their page.

import type { AppProps } from "../App";
import { TraceBadge } from "../parts/TraceBadge";
import { Caveats } from "./Caveats";
import { compare } from "./sentence";

export function Summary({ page, traces }: AppProps) {
  const [first, second] = traces;
  if (first === undefined || second === undefined) return null;
  const caveats = page.comparison?.caveats ?? [];
  return (
    <div class="summary">
      <Caveats caveats={caveats} />
      <p>
        <TraceBadge trace={0} /> against <TraceBadge trace={1} />: {compare(first, second).join(" ")}{" "}
        <a href="#comparison">What differs</a>
      </p>
    </div>
  );
}
