// Colours for "when": early to late. Steps of viridis (Smith and van der Walt 2015), which rise evenly in lightness and are told apart by
// those who do not see red from green.

const VIRIDIS: readonly [number, number, number][] = [
  [68, 1, 84], [71, 44, 122], [59, 81, 139], [44, 113, 142], [33, 144, 141], [39, 173, 129], [92, 200, 99], [170, 220, 50], [253, 231, 37],
];

/** How many different colours. */
export const HEAT_STEPS = 64;

/** From the earliest to the latest: violet to yellow in both themes, cut off where the ground would swallow it. */
export function heatColours(isDark: boolean): string[] {
  const [from, to] = isDark ? [0.18, 1] : [0, 0.9];
  return Array.from({ length: HEAT_STEPS }, (_, step) => at(from + ((to - from) * step) / (HEAT_STEPS - 1)));
}

function at(share: number): string {
  const place = share * (VIRIDIS.length - 1);
  const low = VIRIDIS[Math.floor(place)] ?? [0, 0, 0];
  const high = VIRIDIS[Math.min(Math.floor(place) + 1, VIRIDIS.length - 1)] ?? low;
  const mixed = low.map((channel, nth) => Math.round(channel + ((high[nth] ?? channel) - channel) * (place % 1)));
  return `#${mixed.map((channel) => channel.toString(16).padStart(2, "0")).join("")}`;
}
