// Light or dark, and the colours of palette.json for it: as values for canvases, as custom properties for style sheets.
// The browser's wish decides unless the reader chose; a page opened from a file may have no storage, then the choice lasts as long as the page.

import { computed, effect, signal } from "@preact/signals";

import palette from "../../crates/view/assets/palette.json";

export type Theme = "system" | "light" | "dark";

/** An entry of a group of the palette. */
export interface PaletteEntry {
  id: string;
  label: string;
  light: string;
  dark: string;
  shape?: string;
}

/** The groups that are lists of entries. */
export type PaletteGroup = "dots" | "sections" | "phases" | "traces";

/** A colour that is not for one kind of data. */
export type Ink = keyof typeof palette.ink;

const STORED_AS = "coldstart-theme";

/** What the reader chose. */
export const theme = signal<Theme>(storedTheme());

const systemIsDark = signal(false);

/** What is shown now. */
export const isDark = computed(() => (theme.value === "system" ? systemIsDark.value : theme.value === "dark"));

/** The entries of a group, in their order. */
export function entries(group: PaletteGroup): readonly PaletteEntry[] {
  return palette[group];
}

/** An entry by its id; ids that the palette does not know are shown as its last one. */
export function entry(group: PaletteGroup, id: string): PaletteEntry {
  const all = entries(group);
  return all.find((candidate) => candidate.id === id) ?? all[all.length - 1] ?? { id, label: id, light: "#545b64", dark: "#a5adb7" };
}

/** The colour of an entry in the theme of now; who calls this in a component or effect is called again when it changes. */
export function colour(group: PaletteGroup, id: string): string {
  const found = entry(group, id);
  return isDark.value ? found.dark : found.light;
}

/** A colour of text, lines and surfaces in the theme of now. */
export function ink(name: Ink): string {
  return isDark.value ? palette.ink[name].dark : palette.ink[name].light;
}

/** Black or white: what can be read on a colour of the palette (#rrggbb), by the relative luminance of WCAG 2. */
export function textOn(background: string): string {
  const channel = (from: number) => {
    const value = parseInt(background.slice(from, from + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  const luminance = 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
  return luminance > 0.179 ? "#000000" : "#ffffff";
}

/** Chooses, and remembers it where that is possible. */
export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  try {
    localStorage.setItem(STORED_AS, chosen);
  } catch {
    // No storage: nothing to remember it in.
  }
}

/** Makes the style sheets follow the theme; once, before the first thing is shown. */
export function followTheme(): void {
  const wish = matchMedia("(prefers-color-scheme: dark)");
  systemIsDark.value = wish.matches;
  wish.addEventListener("change", (change) => (systemIsDark.value = change.matches));
  effect(() => {
    const style = document.documentElement.style;
    style.setProperty("color-scheme", isDark.value ? "dark" : "light");
    document.documentElement.dataset["theme"] = isDark.value ? "dark" : "light";
    for (const name of Object.keys(palette.ink) as Ink[]) style.setProperty(`--${name}`, ink(name));
    for (const group of ["dots", "sections", "phases", "traces"] as const) {
      for (const { id } of entries(group)) style.setProperty(`--${group}-${id}`, colour(group, id));
    }
  });
}

function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(STORED_AS);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return "system";
  }
}
