// What stands beside the pointer when no dot is near: the moment and the place.

import { hex, momentText } from "../format";
import { visible } from "../names";
import { PAGE_SIZE } from "../data/trace";
import { timeRange } from "../state";
import { entry } from "../theme";
import { pageWords } from "./describe";
import type { MapModel } from "./model";
import { symbolName, symbolsBetween } from "./symbols";
import { placesShown } from "./view";

/** `x` and `y` are shares of the plot's width and height, from the left and from below. */
export function PlaceBox({ model, x, y }: { model: MapModel; x: number; y: number }) {
  const { places, sides } = model;
  const [begin, end] = timeRange.value;
  const [low, high] = placesShown(places);
  const place = low + (high - low) * y;
  if (place < 0 || place >= places.end) return <p>{momentText(begin + (end - begin) * x)}</p>;
  const { page, isMemory } = places.pageAt(place);
  const band = places.bandAt(place);
  const side = sides[0];
  const object = places.object;
  const symbol = side && object && high - low < 1024 * PAGE_SIZE ? places.addressesBetween(place, place + 1).flatMap(([from, to]) => symbolsBetween(side.trace, object, from, to, 1))[0] : undefined;
  return (
    <p>
      {momentText(begin + (end - begin) * x)}, {pageWords(page, 1, isMemory)}
      {band && <><br />{visible(band.section.name)} ({entry("sections", band.section.class).label}), {hex(Math.floor(place - band.begin))} into it</>}
      {side && symbol !== undefined && <><br />{symbolName(side.trace, symbol)}</>}
    </p>
  );
}
