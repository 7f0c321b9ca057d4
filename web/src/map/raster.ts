// Many dots as pixels. Each pixel keeps the weightiest kind that fell on it, so a page that waited for the disk is never hidden below a
// hundred that did not; colours come last. A million dots cost some 10 ms here where paths and arcs cost seconds
// (docs/decisions/0022-charting.md).

import { type Dots, type DotView, firstAtLeast } from "./dots";

/** What falls on pixels: for each the rank of its kind, 0 for nothing. Kept between frames. */
export class Raster {
  width = 0;
  height = 0;
  ranks = new Uint8Array(0);
  /** Four of them at once. */
  private fours = new Uint32Array(0);
  private image: ImageData | null = null;
  private words = new Uint32Array(0);

  /** Empties it, of a new size if need be. Pixels of the screen. */
  begin(width: number, height: number): void {
    if (width !== this.width || height !== this.height) {
      this.width = width;
      this.height = height;
      this.fours = new Uint32Array(Math.ceil((width * height) / 4));
      this.ranks = new Uint8Array(this.fours.buffer, 0, width * height);
      this.image = null;
    } else this.ranks.fill(0);
  }

  /** Puts dots of a square of `size` pixels. `rankOf` gives 1 and more by kind; of two on one pixel the greater stays. */
  put(dots: Dots, view: DotView, size: number, rankOf: Uint8Array): void {
    const { width, height, ranks } = this;
    const { at, place, reach, kind } = dots;
    const across = width / (view.end - view.begin);
    const up = height / (view.high - view.low);
    const half = (size - 1) >> 1;
    const air = size / across;
    const last = firstAtLeast(at, dots.count, view.end + air);
    for (let nth = firstAtLeast(at, dots.count, view.begin - air); nth < last; nth += 1) {
      const rank = rankOf[kind[nth] as number] as number;
      if (rank === 0) continue;
      const bottom = Math.floor((view.high - (place[nth] as number)) * up);
      const top = (reach[nth] as number) > 0 ? Math.floor((view.high - (place[nth] as number) - (reach[nth] as number)) * up) : bottom;
      if (bottom + size < 0 || top - size > height) continue;
      const x = Math.floor(((at[nth] as number) - view.begin) * across) - half;
      // Among so many that they are two pixels wide, most lie inside and are no taller: no loops for them.
      if (size === 2 && top === bottom && x >= 0 && x < width - 1 && bottom >= 0 && bottom < height - 1) {
        const cell = bottom * width + x;
        if ((ranks[cell] as number) < rank) ranks[cell] = rank;
        if ((ranks[cell + 1] as number) < rank) ranks[cell + 1] = rank;
        if ((ranks[cell + width] as number) < rank) ranks[cell + width] = rank;
        if ((ranks[cell + width + 1] as number) < rank) ranks[cell + width + 1] = rank;
        continue;
      }
      const left = x < 0 ? 0 : x;
      const right = x + size > width ? width : x + size;
      const down = bottom - half + size > height ? height : bottom - half + size;
      for (let y = top - half < 0 ? 0 : top - half; y < down; y += 1) {
        for (let cell = y * width + left; cell < y * width + right; cell += 1) if ((ranks[cell] as number) < rank) ranks[cell] = rank;
      }
    }
  }

  /** The picture, coloured by rank: words are 0xAABBGGRR, where nothing fell it is transparent. */
  picture(wordOf: Uint32Array): ImageData {
    if (this.image === null) {
      this.image = new ImageData(this.width, this.height);
      this.words = new Uint32Array(this.image.data.buffer);
    }
    const { ranks, words, fours } = this;
    words.fill(0);
    // Most of the picture is empty.
    for (let four = 0; four < fours.length; four += 1) {
      if (fours[four] === 0) continue;
      const end = Math.min(four * 4 + 4, ranks.length);
      for (let cell = four * 4; cell < end; cell += 1) {
        const rank = ranks[cell] as number;
        if (rank !== 0) words[cell] = wordOf[rank] as number;
      }
    }
    return this.image;
  }
}

/** "#rrggbb" and how opaque (0 to 1) as a pixel's word on machines of today, which are little-endian. */
export function pixelWord(colour: string, opacity = 1): number {
  const value = parseInt(colour.slice(1, 7), 16);
  return (((Math.round(opacity * 255) << 24) | ((value & 255) << 16) | (value & 0xff00) | (value >> 16)) >>> 0);
}

/** How large a dot is, in pixels of the page, when so many are in view. */
export function dotSize(inView: number): number {
  return inView > 200_000 ? 1.5 : inView > 30_000 ? 2 : 3;
}
