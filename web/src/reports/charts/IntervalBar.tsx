// The bar of an interval. An end outside the axis is drawn as a point, so that the bar does not seem to end there.

export interface IntervalBarProps {
  /** Pixels: the interval, and where the axis begins and ends. */
  low: number;
  high: number;
  from: number;
  to: number;
  y: number;
  height: number;
}

const POINT = 7;

export function IntervalBar({ low, high, from, to, y, height }: IntervalBarProps) {
  const left = Math.min(Math.max(low, from), to);
  const right = Math.max(Math.min(Math.max(high, from), to), left + 2);
  const [middle, bottom] = [y + height / 2, y + height];
  const before = low < from ? `M${left + POINT},${bottom}L${left},${middle}L${left + POINT},${y}` : `M${left},${bottom}V${y}`;
  const behind = high > to ? `H${right - POINT}L${right},${middle}L${right - POINT},${bottom}Z` : `H${right}V${bottom}Z`;
  return <path class={`report-interval${low < from || high > to ? " goes-on" : ""}`} d={before + behind} />;
}
