// Finding a place in what is sorted.

/** The first place from `low` on that is not `before` what is looked for; `high` if all are. Those before stand in front of the others. */
export function firstNot(before: (place: number) => boolean, low: number, high: number): number {
  let [from, to] = [low, high];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (before(middle)) from = middle + 1;
    else to = middle;
  }
  return from;
}
