/**
 * Draws doc comments of the source at random, each with the declaration that follows it, for a
 * reader who has read nothing else.
 *
 *   bun test/draw-comments.ts [COUNT] [SEED]
 */
import { Glob } from "bun";

const [count = "30", seed = "1"] = process.argv.slice(2);

const comments: string[] = [];
for (const path of [...new Glob("src/**/*.{ts,tsx}").scanSync(".")].sort()) {
  const text = await Bun.file(path).text();
  for (const [, comment, declaration] of text.matchAll(
    /^ *(\/\*\*(?:(?!\*\/)[\s\S])*\*\/)\n *([^\n]+)/gm,
  )) {
    const words = comment!.replace(/^\s*(\/\*\*|\*\/|\*)\s?|\s*\*\/$/gm, "").trim();
    comments.push(`${path}\n  ${words.replaceAll("\n", " ")}\n  > ${declaration}`);
  }
}

// mulberry32
let state = Number(seed);
const random = () => {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
};
for (let drawn = 1; drawn <= Number(count); drawn++) {
  const [comment] = comments.splice(Math.floor(random() * comments.length), 1);
  process.stdout.write(`${drawn}. ${comment}\n\n`);
}
