// What must be known before two traces are held against each other; beside every figure that does it.

import { Sentence } from "../parts/Sentence";

export function Caveats({ caveats }: { caveats: readonly string[] }) {
  if (caveats.length === 0) return null;
  return (
    <div class="caveat">
      <strong>Before comparing:</strong>{" "}
      {caveats.map((sentence, place) => (
        <span key={place}><Sentence text={sentence} /> </span>
      ))}
    </div>
  );
}
