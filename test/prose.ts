/**
 * Sentences that a stranger has to read twice, by the words that give them away.
 *
 *   bun test/prose.ts [PATH …]    lists them, in src, test, bench and the documents by default
 */
import { Glob } from "bun";

/** A comment that begins with one of these does not name its thing first. */
const openings = /^(Of|As|Those|What|Between|Whose|Behind|Beyond|Such|That|So|Among|Beside)\b/;

/** A doc comment that begins with one of these states a case of its thing, and not the thing. */
const docOpenings =
  /^(Absent|Empty|Undefined|Null|True|False|Set (?!of)|The same|Must be|Call (when|after)|Only (for|when|while))\b/;

/** A sentence that begins with one of these does not name its subject. */
const sentenceOpenings = /(?:^|[.!?] )(?:\*\*)?(Of|As|Those|What) /;

const phrases = new RegExp(
  `\\b(${[
    ...[
      "is told",
      "are told",
      "was told",
      "were told",
      "told apart",
      "nobody",
      "so many",
      "so much",
    ],
    ...[
      "of late",
      "made anew",
      "anew",
      "of its own kind",
      "one of its own",
      "what comes",
      "who comes",
    ],
    ...["such that one", "looked for", "looked after", "came to be", "such as are", "in its time"],
    ...["that is there", "is none of", "somebody", "under way", "all the same"],
    ...["goes on", "from which on"],
  ].join("|")})\\b`,
  "i",
);

/** `path:line: text` of each sentence. */
export function oddSentences(path: string, text: string): string[] {
  const found: string[] = [];
  const lines = text.split("\n");
  const isCode = /\.tsx?$/.test(path);
  let before = "";
  for (const [at, line] of lines.entries()) {
    const comment = line.match(/^\s*(?:\/\*\*|\/\/|\*(?!\/))\s?(.*)$/)?.[1];
    const begins = comment !== undefined && (/^\s*\/\*\*/.test(line) || before === "");
    const first =
      begins && comment === "" ? (lines[at + 1] ?? "").replace(/^\s*\*\s?/, "") : comment;
    const prose = isCode ? (comment ?? "") : line.replace(/^\s*([-*]|\d+\.|>|\|) /, "");
    const isOdd =
      (isCode && begins && openings.test(first ?? "")) ||
      (isCode && /^\s*\/\*\*/.test(line) && docOpenings.test(first ?? "")) ||
      sentenceOpenings.test(prose) ||
      phrases.test(line);
    if (isOdd) found.push(`${path}:${at + 1}: ${line.trim()}`);
    before = comment ?? "";
  }
  return found;
}

if (import.meta.main) {
  const asked = process.argv.slice(2);
  const roots = asked.length > 0 ? asked : ["src", "test", "bench", "docs", "README.md"];
  for (const root of roots) {
    const paths = /\.\w+$/.test(root)
      ? [root]
      : [...new Glob(`${root}/**/*.{ts,tsx,md}`).scanSync(".")].sort();
    for (const path of paths.filter((path) => !path.endsWith("prose.ts"))) {
      for (const odd of oddSentences(path, await Bun.file(path).text()))
        process.stdout.write(`${odd}\n`);
    }
  }
}
