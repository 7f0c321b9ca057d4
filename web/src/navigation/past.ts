// The way back: what the map showed before each change, so that a step too far is undone by Backspace or a button. Gestures change the view
// many times a second; a view counts once it has come to rest.

import { batch, effect, signal } from "@preact/signals";

import { type ChosenFile, mark, placeRange, selectedEvent, selectedFile, timeRange } from "../state";

/** What is shown of which file. */
interface View {
  time: readonly [number, number];
  place: readonly [number, number] | null;
  file: ChosenFile;
}

/** A view counts when it has rested for so long, in milliseconds. */
const REST = 350;

/** No more steps are kept. */
const MOST = 100;

const past = signal<readonly View[]>([]);
let rested: View = now();
let waiting: ReturnType<typeof setTimeout> | undefined;

/** Whether there is something to go back to. */
export function hasPast(): boolean {
  return past.value.length > 0;
}

/** Begins to remember views; the returned function stops. */
export function followViews(): () => void {
  rested = now();
  past.value = [];
  const stop = effect(() => {
    void timeRange.value;
    void placeRange.value;
    void selectedFile.value;
    clearTimeout(waiting);
    waiting = setTimeout(rest, REST);
  });
  document.addEventListener("keydown", onKeyDown);
  return () => {
    stop();
    document.removeEventListener("keydown", onKeyDown);
    clearTimeout(waiting);
  };
}

/** Shows what was shown before; of a change that has not come to rest, what was shown before it. */
export function goBack(): void {
  rest();
  const last = past.value[past.value.length - 1];
  if (last === undefined) return;
  past.value = past.value.slice(0, -1);
  batch(() => {
    if (!isSameFile(selectedFile.value, last.file)) {
      selectedFile.value = last.file;
      selectedEvent.value = null;
    }
    mark.value = null;
    timeRange.value = [last.time[0], last.time[1]];
    placeRange.value = last.place && [last.place[0], last.place[1]];
  });
  rested = now();
}

function onKeyDown(event: KeyboardEvent): void {
  const isTyping = event.target instanceof HTMLElement && event.target.matches("input, select, textarea");
  if (event.key !== "Backspace" || isTyping || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  goBack();
}

function rest(): void {
  const view = now();
  if (isSame(view, rested)) return;
  past.value = [...past.value.slice(-MOST + 1), rested];
  rested = view;
}

function now(): View {
  return { time: timeRange.peek(), place: placeRange.peek(), file: selectedFile.peek() };
}

function isSame(left: View, right: View): boolean {
  const isEqual = (one: readonly number[] | null, other: readonly number[] | null) => one === other || (one !== null && other !== null && one[0] === other[0] && one[1] === other[1]);
  return isEqual(left.time, right.time) && isEqual(left.place, right.place) && isSameFile(left.file, right.file);
}

function isSameFile(left: ChosenFile, right: ChosenFile): boolean {
  return left.trace === right.trace && left.place === right.place;
}
