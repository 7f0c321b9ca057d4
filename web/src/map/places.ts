// Where things stand on the map's vertical axis. A place is a byte of the file; zero-filled memory, which is in no file, stands above its end.
// Memory of one object can lie in several stretches (one for each segment that is longer than its bytes in the file): they stand one
// above the other, in order of address.

import type { FileHead, ObjectHead, SectionHead } from "../data/payload";
import { PAGE_SIZE } from "../data/trace";

/** A stretch of the axis that belongs to a section. */
export interface Band {
  section: SectionHead;
  begin: number;
  end: number;
}

/** A stretch of zero-filled memory: pages by address, and where it stands. */
interface MemoryStretch {
  firstPage: number;
  endPage: number;
  place: number;
}

/** What is known of pages before the axis is laid out. */
export interface PagesSeen {
  /** Behind the last page of the file that an event names. */
  fileEnd: number;
  /** Pages of zero-filled memory, by address / 4096. */
  memory: readonly number[];
}

export class Places {
  readonly object: ObjectHead | null;
  /** Where memory begins: the file's end, rounded up to a page. */
  readonly fileEnd: number;
  /** The top of the axis. */
  readonly end: number;
  /** From the lowest place to the highest; sections that take no memory and no bytes are left out. */
  readonly bands: readonly Band[];
  private readonly memory: readonly MemoryStretch[];

  constructor(file: FileHead, seen: PagesSeen) {
    this.object = file.object;
    const segments = file.object?.segments ?? [];
    const ends = segments.map((segment) => segment.offset + segment.fileSize);
    this.fileEnd = upToPage(Math.max(file.size ?? 0, seen.fileEnd * PAGE_SIZE, ...ends, PAGE_SIZE));
    let place = this.fileEnd;
    this.memory = memoryStretches(segments, seen.memory).map(([firstPage, endPage]) => {
      const stretch = { firstPage, endPage, place };
      place += (endPage - firstPage) * PAGE_SIZE;
      return stretch;
    });
    this.end = place;
    this.bands = this.bandsOf(file.object?.sections ?? []);
  }

  /** Where a page begins. */
  ofPage(page: number, isMemory: boolean): number {
    if (!isMemory) return page * PAGE_SIZE;
    const stretch = this.memory.find(({ endPage }) => page < endPage) ?? this.memory[this.memory.length - 1];
    if (stretch === undefined) return this.fileEnd;
    return stretch.place + Math.max(page - stretch.firstPage, 0) * PAGE_SIZE;
  }

  /** Which page stands at a place; of memory, by address. */
  pageAt(place: number): { page: number; isMemory: boolean } {
    if (place < this.fileEnd) return { page: Math.max(0, Math.floor(place / PAGE_SIZE)), isMemory: false };
    let found = this.memory[0];
    for (const stretch of this.memory) if (stretch.place <= place) found = stretch;
    if (found === undefined) return { page: Math.floor(place / PAGE_SIZE), isMemory: false };
    return { page: found.firstPage + Math.floor((place - found.place) / PAGE_SIZE), isMemory: true };
  }

  /** Where an address without load bias stands; null: in no segment. The PT_LOAD rule of the ELF specification: offset and address run alongside. */
  ofAddress(address: number): number | null {
    for (const segment of this.object?.segments ?? []) {
      const into = address - segment.address;
      if (into < 0 || into >= segment.memorySize) continue;
      if (into < segment.fileSize) return segment.offset + into;
      const page = Math.floor(address / PAGE_SIZE);
      const stretch = this.memory.find(({ firstPage, endPage }) => page >= firstPage && page < endPage);
      // The rest of the last page of the file is filled with zeros, too, but it is the file's page.
      return stretch ? stretch.place + address - stretch.firstPage * PAGE_SIZE : segment.offset + into;
    }
    return null;
  }

  /** Stretches of addresses that stand between two places, in order of place. */
  addressesBetween(low: number, high: number): [begin: number, end: number][] {
    const found: [number, number][] = [];
    for (const segment of this.object?.segments ?? []) {
      const begin = Math.max(low, segment.offset);
      const end = Math.min(high, segment.offset + segment.fileSize);
      if (begin < end) found.push([begin - segment.offset + segment.address, end - segment.offset + segment.address]);
    }
    for (const stretch of this.memory) {
      const address = stretch.firstPage * PAGE_SIZE;
      const begin = Math.max(low, stretch.place);
      const end = Math.min(high, stretch.place + stretch.endPage * PAGE_SIZE - address);
      if (begin < end) found.push([begin - stretch.place + address, end - stretch.place + address]);
    }
    return found;
  }

  /** The section at a place. */
  bandAt(place: number): Band | undefined {
    return this.bands.find((band) => place >= band.begin && place < band.end);
  }

  /** The sections that hold bytes of the page at a place. */
  bandsOfPage(place: number): Band[] {
    const begin = Math.floor(place / PAGE_SIZE) * PAGE_SIZE;
    return this.bands.filter((band) => band.begin < begin + PAGE_SIZE && band.end > begin);
  }

  private bandsOf(sections: readonly SectionHead[]): Band[] {
    const bands: Band[] = [];
    for (const section of sections) {
      if (section.size <= 0 || (section.zeroFilled && section.pages === null)) continue;
      if (!section.zeroFilled) {
        bands.push({ section, begin: section.offset, end: section.offset + section.size });
        continue;
      }
      const first = Math.ceil(section.address / PAGE_SIZE) * PAGE_SIZE;
      const begin = first < section.address + section.size ? this.ofAddress(first) : null;
      if (begin !== null && begin >= this.fileEnd) bands.push({ section, begin, end: begin + section.address + section.size - first });
    }
    return bands.sort((left, right) => left.begin - right.begin);
  }
}

function upToPage(bytes: number): number {
  return Math.ceil(bytes / PAGE_SIZE) * PAGE_SIZE;
}

/** Stretches of pages behind the segments' bytes, and those that were seen elsewhere; sorted, none over another. */
function memoryStretches(segments: ObjectHead["segments"], seen: readonly number[]): [number, number][] {
  const stretches: [number, number][] = [];
  for (const { address, fileSize, memorySize } of segments) {
    const first = Math.ceil((address + fileSize) / PAGE_SIZE);
    const end = Math.ceil((address + memorySize) / PAGE_SIZE);
    if (first < end) stretches.push([first, end]);
  }
  for (const page of seen) stretches.push([page, page + 1]);
  stretches.sort((left, right) => left[0] - right[0]);
  const joined: [number, number][] = [];
  for (const [first, end] of stretches) {
    const last = joined[joined.length - 1];
    // Less than 64 KiB apart: one stretch, so that a lone page does not stand by itself.
    if (last && first <= last[1] + 16) last[1] = Math.max(last[1], end);
    else joined.push([first, end]);
  }
  return joined;
}
