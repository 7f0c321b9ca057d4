// Moving about on the map: what gestures, keys and buttons share.

import { LEAST_TIME, placeRange, showTime, timeRange, wholeTime } from "../state";
import type { Places } from "./places";

/** No fewer bytes are shown from bottom to top. */
const FEWEST_BYTES = 64;

/** The places on the map now: those chosen, or all with a little air. */
export function placesShown(places: Places, chosen = placeRange.value): [low: number, high: number] {
  const whole = wholePlaces(places);
  if (chosen === null) return whole;
  // An address that was written by hand may ask for anything.
  const [low, high] = [Math.max(chosen[0], whole[0]), Math.min(chosen[1], whole[1])];
  return high - low >= FEWEST_BYTES / 2 ? [low, high] : whole;
}

function wholePlaces(places: Places): [number, number] {
  const air = places.end * 0.012;
  return [-air, places.end + air];
}

/** Shows places, kept inside the whole. */
export function showPlaces(places: Places, low: number, high: number): void {
  const [bottom, top] = wholePlaces(places);
  const height = Math.min(Math.max(high - low, FEWEST_BYTES), top - bottom);
  if (height >= (top - bottom) * 0.9999) {
    placeRange.value = null;
    return;
  }
  const from = Math.min(Math.max((low + high - height) / 2, bottom), top - height);
  placeRange.value = [from, from + height];
}

/** Zooms by a factor (below 1: nearer); the point at these shares of width and height stays where it is. */
export function zoom(places: Places, factor: { time: number; place: number }, across = 0.5, up = 0.5): void {
  if (factor.time !== 1) {
    const [begin, end] = timeRange.value;
    const width = Math.max((end - begin) * factor.time, LEAST_TIME);
    const from = begin + (end - begin - width) * across;
    showTime(from, from + width);
  }
  if (factor.place !== 1) {
    const [low, high] = placesShown(places);
    const height = Math.max((high - low) * factor.place, FEWEST_BYTES);
    const from = low + (high - low - height) * up;
    showPlaces(places, from, from + height);
  }
}

/** Moves by shares of what is shown. */
export function pan(places: Places, across: number, up: number): void {
  const [begin, end] = timeRange.value;
  if (across !== 0) showTime(begin + (end - begin) * across, end + (end - begin) * across);
  const [low, high] = placesShown(places);
  if (up !== 0) showPlaces(places, low + (high - low) * up, high + (high - low) * up);
}

/** Everything. */
export function showAll(): void {
  timeRange.value = wholeTime.value;
  placeRange.value = null;
}

/** Moves what is shown until a point is in it. */
export function reveal(places: Places, at: number, place: number): void {
  const [begin, end] = timeRange.value;
  if (at < begin || at > end) showTime(at - (end - begin) / 2, at + (end - begin) / 2);
  const [low, high] = placesShown(places);
  if (place < low || place > high) showPlaces(places, place - (high - low) / 2, place + (high - low) / 2);
}
