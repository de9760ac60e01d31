import { Chunk } from "@codemirror/merge";
import { Text } from "@codemirror/state";

/**
 * Merges two edited versions of the text `base` by lines. Where both have changed the same or
 * adjacent lines differently, the user's lines (`yours`) are taken. `overlaps` is the number of
 * these places.
 */
export function mergeTexts(
  base: string,
  yours: string,
  theirs: string,
): { text: string; overlaps: number } {
  // With a line break at the end, every chunk ends inside its text.
  const [original, own, other] = [base, yours, theirs].map((text) => `${text}\n`) as [
    string,
    string,
    string,
  ];
  const ownChunks = chunksOf(original, own);
  const otherChunks = chunksOf(original, other);
  let [text, at, overlaps] = ["", 0, 0];
  while (ownChunks.length > 0 || otherChunks.length > 0) {
    const from = Math.min(ownChunks[0]?.fromA ?? Infinity, otherChunks[0]?.fromA ?? Infinity);
    const [ownPart, otherPart]: Chunk[][] = [[], []];
    let to = from;
    for (let grew = true; grew; ) {
      grew = false;
      for (const [chunks, part] of [
        [ownChunks, ownPart!],
        [otherChunks, otherPart!],
      ] as const) {
        const [next] = chunks;
        if (next === undefined || next.fromA > to) continue;
        part.push(chunks.shift()!);
        to = Math.max(to, next.toA);
        grew = true;
      }
    }
    const ownText = regionOf(own, ownPart!, from, to);
    const otherText = regionOf(other, otherPart!, from, to);
    text += original.slice(at, from) + (ownText ?? otherText ?? "");
    if (ownText !== undefined && otherText !== undefined && ownText !== otherText) overlaps++;
    at = to;
  }
  return { text: (text + original.slice(at)).slice(0, -1), overlaps };
}

function chunksOf(a: string, b: string): Chunk[] {
  return [...Chunk.build(Text.of(a.split("\n")), Text.of(b.split("\n")))];
}

/**
 * Returns the text that `side`, an edited version of the original, has in place of the original's
 * characters from `from` to `to`. `chunks` are the changes of `side` in this region. Returns
 * undefined if there are none.
 */
function regionOf(side: string, chunks: Chunk[], from: number, to: number): string | undefined {
  const [first, last] = [chunks[0], chunks.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  return side.slice(first.fromB - (first.fromA - from), last.toB + (to - last.toA));
}
