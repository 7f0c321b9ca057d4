// Which of two traces something is of: a letter, a shape and a colour, so that none of them is needed alone.

export type TraceLetter = "A" | "B";

/** The letter of the first trace or of the second. */
export function letterOf(trace: number): TraceLetter {
  return trace === 0 ? "A" : "B";
}

export function TraceBadge({ trace }: { trace: number }) {
  const letter = letterOf(trace);
  return (
    <span class={`badge ${letter}`}>
      <svg width="9" height="9" viewBox="0 0 10 10" aria-hidden="true">
        {trace === 0 ? <circle cx="5" cy="5" r="5" /> : <rect width="10" height="10" />}
      </svg>
      {letter}
    </span>
  );
}
