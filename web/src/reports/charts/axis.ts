// A linear axis with round ticks, in steps of 1, 2 or 5 times a power of ten; and one of ratios, on which equal factors are equally far apart.

export interface Axis {
  low: number;
  high: number;
  ticks: number[];
  /** Where a value stands, from 0 to 1; values outside lie outside. */
  at: (value: number) => number;
}

/** An axis that holds all values; `zero`: begins at zero. Without values it has no ticks. */
export function axisOver(values: readonly number[], zero: boolean, wanted = 6): Axis {
  const finite = values.filter(Number.isFinite);
  let low = zero || finite.length === 0 ? 0 : Math.min(...finite);
  let high = finite.length === 0 ? 1 : Math.max(...finite);
  // Where everything is alike a tenth still shows it as a point and not as a wall.
  const room = Math.max(high - low, Math.abs(high) * 0.05, 1e-9);
  if (zero) {
    low = Math.min(0, ...finite);
    high = Math.max(high, low + room) + room * 0.03;
  } else {
    const isPositive = low >= 0;
    low -= room * 0.06;
    high += room * 0.06;
    if (isPositive) low = Math.max(low, 0);
  }
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10) * power;
  const ticks: number[] = [];
  for (let number = Math.ceil(low / step); finite.length > 0 && number * step <= high && ticks.length < 50; number += 1) ticks.push(Number((number * step).toPrecision(12)));
  return { low, high, ticks, at: (value) => (value - low) / (high - low) };
}

/** Ratios that lie further apart than this stand on an axis of factors. */
const FACTORS = 4;
/** The ends of an interval may make the axis this much wider than what must stand on it: of few runs they are thousands of times off. */
const WIDER = 8;

/** An axis that holds all of `must`, and of `may` what does not squeeze these. */
export function ratioAxisOver(must: readonly number[], may: readonly number[]): Axis {
  const held = must.filter((value) => value > 0 && Number.isFinite(value));
  const [least, most] = [Math.min(...held), Math.max(...held)];
  const all = [...held, ...may.filter((value) => Number.isFinite(value)).map((value) => Math.min(Math.max(value, least / WIDER), most * WIDER))];
  const [first, last] = [Math.min(...all), Math.max(...all)];
  if (held.length === 0 || last / first < FACTORS) return axisOver(all, false);
  const room = (last / first) ** 0.05;
  const [low, high] = [first / room, last * room];
  const powers = Array.from({ length: Math.ceil(Math.log10(high / low)) + 2 }, (_, place) => Math.floor(Math.log10(low)) + place);
  const ticks = powers.flatMap((power) => (powers.length > 5 ? [1] : [1, 2, 5]).map((one) => Number((one * 10 ** power).toPrecision(1)))).filter((tick) => tick >= low && tick <= high);
  return { low, high, ticks, at: (value) => (value <= 0 ? -1 : Math.log(value / low) / Math.log(high / low)) };
}

/** How many ticks share one label, so that labels of `room` pixels do not meet on `length` pixels. */
export function labelEvery(axis: Axis, length: number, room: number): number {
  const gaps = axis.ticks.slice(1).map((tick, place) => length * (axis.at(tick) - axis.at(axis.ticks[place] ?? tick)));
  return gaps.length === 0 ? 1 : Math.max(1, Math.ceil(room / Math.min(...gaps)));
}

/** Ticks of times, in seconds: one unit for all, with as many digits as the steps need. */
export function timeTick(axis: Axis): (seconds: number) => string {
  const size = Math.max(Math.abs(axis.low), Math.abs(axis.high));
  const [factor, unit] = size < 1e-3 ? [1e6, "µs"] : size < 1 ? [1e3, "ms"] : [1, "s"];
  const step = ((axis.ticks[1] ?? axis.high) - (axis.ticks[0] ?? axis.low)) * factor;
  const digits = Math.min(6, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  return (seconds) => (seconds === 0 ? "0" : `${(seconds * factor).toFixed(digits)} ${unit}`);
}

/** Ticks without a unit. */
export function plainTick(axis: Axis): (value: number) => string {
  const step = Math.min(...axis.ticks.slice(1).map((tick, place) => tick - (axis.ticks[place] ?? 0)), axis.high - axis.low);
  const digits = Math.min(6, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  return (value) => value.toFixed(digits);
}
