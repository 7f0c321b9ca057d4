// Numbers as people read them.

/** Nanoseconds as "12.3 ms". */
export function time(nanoseconds: number): string {
  const size = Math.abs(nanoseconds);
  // What would be rounded to a thousand is one of the next unit.
  if (size >= 0.9995e9) return `${short(nanoseconds / 1e9)} s`;
  if (size >= 0.9995e6) return `${short(nanoseconds / 1e6)} ms`;
  if (size >= 0.9995e3) return `${short(nanoseconds / 1e3)} µs`;
  return `${Math.round(nanoseconds)} ns`;
}

/** A moment to the microsecond: neighbours must not look the same. */
export function momentText(nanoseconds: number): string {
  return `${(nanoseconds / 1e6).toFixed(3)} ms`;
}

/** Two moments, with as many digits as tell them apart: "287.6684 to 287.6739 ms". */
export function stretch(begin: number, end: number): string {
  const [size, unit] = Math.abs(end) >= 1e9 && end - begin >= 1e7 ? [1e9, "s"] : Math.abs(end) >= 1e6 ? [1e6, "ms"] : [1e3, "µs"];
  // Four digits of the difference, since edges lie anywhere.
  const digits = Math.min(Math.max(0, Math.ceil(-Math.log10((end - begin) / size) + 2)), Math.round(Math.log10(size)));
  return `${(begin / size).toFixed(digits)} to ${(end / size).toFixed(digits)} ${unit}`;
}

/** Bytes as "12.3 MB", decimal as everywhere in coldstart. */
export function bytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = count;
  let unit = 0;
  while (Math.abs(value) >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return unit === 0 ? `${value} B` : `${short(value)} ${units[unit]}`;
}

/** Thousands apart, as elsewhere in coldstart: "12 345". */
export function count(value: number): string {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/** An address or a file offset. */
export function hex(value: number): string {
  return `0x${value.toString(16)}`;
}

/** Three significant digits. */
function short(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

/** A moment to the minute, in UTC so that one page says the same wherever it is read; null where there is no such date. */
export function minute(secondsSince1970: number): string | null {
  const date = new Date(secondsSince1970 * 1000);
  return Number.isNaN(date.getTime()) ? null : `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
