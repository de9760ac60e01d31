import { afterAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { TestFiles } from "./concerned.ts";
import { type Equivalent, equivalents } from "./equivalent.ts";
import { KeptRuns } from "./kept-runs.ts";
import { mutantsOf } from "./mutants.ts";
import { type MutateOptions, mutate, row } from "./mutate.ts";

const root = mkdtempSync(join(tmpdir(), "pixelmill-test-mutate-"));
afterAll(() => rmSync(root, { recursive: true }));

const project = {
  "package.json": "{}",
  "tsconfig.json": "{}",
  "bunfig.toml": "",
  "node_modules/.keep": "",
  "dist/.keep": "",
  "src/shop/price.ts": `
export function priceOf(count: number, isMember: boolean): number {
  const whole = count * 5;
  return isMember ? whole - 1 : whole;
}
export function nobodyAsks(count: number): boolean {
  return count > 3;
}
`,
  "src/shop/child.ts": `process.stdout.write(String(2 + 2));`,
  "test/shop/price.test.ts": `
import { expect, test } from "bun:test";
import { priceOf } from "../../src/shop/price.ts";
test("strangers pay the whole price", () => expect(priceOf(2, false)).toBe(10));
`,
  "test/shop/child.test.ts": `
import { expect, test } from "bun:test";
test("a child adds", () => {
  const { stdout } = Bun.spawnSync([process.execPath, "src/shop/child.ts"]);
  expect(stdout.toString()).toBe("4");
});
`,
  "src/shop/tax.ts": `export const taxOf = (price: number) => price / 4;`,
  "src/till/receipt.ts": `
import { taxOf } from "../shop/tax.ts";
export const lastLine = (price: number): string => \`tax \${taxOf(price)}\`;
`,
  "test/till/receipt.test.ts": `
import { expect, test } from "bun:test";
import { lastLine } from "../../src/till/receipt.ts";
test("a receipt ends with the tax", () => expect(lastLine(8)).toBe("tax 2"));
`,
  "src/shop/stock.ts": `export const isLow = (count: number) => count < 3;`,
  "test/shop/stock.test.ts": `
import { appendFileSync, readFileSync } from "node:fs";
import { expect, test } from "bun:test";
import { isLow } from "../../src/shop/stock.ts";
test("passes the first time", () => {
  appendFileSync("runs", isLow(1) ? "x" : "x");
  expect(readFileSync("runs", "utf8")).toBe("x");
});
`,
  "test/shop/broken.test.ts": `
import { expect, test } from "bun:test";
import { priceOf } from "../../src/shop/price.ts";
test("fails as it is", () => expect(priceOf(2, false)).toBe(2));
`,
};
for (const [path, text] of Object.entries(project)) {
  mkdirSync(join(root, dirname(path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

async function run(more: Partial<MutateOptions> = {}) {
  const said: string[] = [];
  const report = await mutate({
    root,
    folders: ["shop"],
    seed: 1,
    only: [],
    minutes: 5,
    jobs: 1,
    equivalents: [],
    say: (line) => said.push(line),
    ...more,
  });
  const fates = Object.fromEntries([...report.fates].map(([{ change }, fate]) => [change, fate]));
  return { said, fates, report };
}

describe("mutation run", () => {
  test("separates killed mutants from survivors", async () => {
    const { fates, said, report } = await run();
    expect(fates["count * 5 → count / 5"]).toBe("failed");
    expect(fates["isMember → true"]).toBe("failed");
    expect(fates["isMember → false"]).toBe("survived");
    expect(fates["whole - 1 → whole + 1"]).toBe("survived");
    expect(fates["count > 3 → count >= 3"]).toBe("uncovered");
    expect(said).toContain("survived src/shop/price.ts:4  isMember → false");
    expect(said).toContain("test/shop/broken.test.ts fails without a mutant and is put aside");
    expect(row("shop", [...report.fates.values()])).toMatchObject({
      made: report.mutants,
      equivalent: 0,
    });
  }, 300_000);

  test("runs the tests whose child process runs the mutant's line", async () => {
    const { fates } = await run({ only: ["src/shop/child.ts"] });
    expect(fates["2 + 2 → 2 - 2"]).toBe("failed");
  }, 300_000);

  test("runs the tests of other folders that import the mutant's file", async () => {
    const { fates } = await run({ only: ["src/shop/tax.ts"] });
    expect(fates["price / 4 → price * 4"]).toBe("failed");
  }, 300_000);

  test("a test that fails without the mutant, too, kills nothing", async () => {
    const { fates } = await run({ only: ["src/shop/stock.ts"] });
    expect(fates["count < 3 → count <= 3"]).toBe("survived");
  }, 300_000);

  test("counts known equivalents separately, samples by a seed and leaves no files", async () => {
    const known: Equivalent = {
      file: "src/shop/price.ts",
      line: "return count > 3;",
      change: "count > 3 → count >= 3",
      why: "no caller asks",
    };
    const only = ["src/shop/price.ts:7"];
    const { fates, report } = await run({ only, equivalents: [known] });
    expect(fates["count > 3 → count >= 3"]).toBe("equivalent");
    expect(row("shop", [...report.fates.values()])).toMatchObject({
      made: 3,
      survived: 2,
      equivalent: 1,
      "killed %": 0,
    });
    const [one, other] = [await run({ only, sample: 2 }), await run({ only, sample: 2 })];
    expect(Object.keys(one.fates)).toEqual(Object.keys(other.fates));
    expect(one.report.fates.size).toBe(2);
    expect(readdirSync(join(root, "src/shop")).sort()).toEqual([
      "child.ts",
      "price.ts",
      "stock.ts",
      "tax.ts",
    ]);
  }, 300_000);
});

test("a kept run of a test is found until the test changes, and is unsure about changed files", () => {
  const [test, file] = ["test/shop/stock.test.ts", "src/shop/stock.ts"];
  const find = () => new KeptRuns(root).find(test, [test, file]);
  const change = (path: string) => writeFileSync(join(root, path), `${texts[path]}\n`);
  const texts: Record<string, string> = project;
  rmSync(join(root, "node_modules/.cache"), { recursive: true, force: true });
  expect(find()).toBeUndefined();
  const run = { ms: 5, lines: new Map([[file, new Set([3, 4])]]), unsure: new Set<string>() };
  new KeptRuns(root).keep(test, [test, file], run);
  expect(find()).toEqual(run);
  change(file);
  expect(find()).toEqual({ ...run, unsure: new Set([file]) });
  change(test);
  expect(find()).toBeUndefined();
  for (const path of [test, file]) writeFileSync(join(root, path), texts[path]!);
});

test("a mutant meets first the test whose path has the most words of its file", () => {
  const files = new TestFiles(root, () => {});
  expect(files.nearest("src/shop/price.ts")).toEqual([
    "test/shop/price.test.ts",
    "test/shop/broken.test.ts",
  ]);
  expect(files.nearest("src/shop/tax.ts")).toEqual(["test/till/receipt.test.ts"]);
  expect(files.farther("src/shop/tax.ts")).toEqual([]);
});

test("of many importers in other folders, those of the shortest imports are near", () => {
  const folder = join(root, "test/mall");
  mkdirSync(folder);
  try {
    const imported = (path: string) => `import "../../src/${path}";`;
    for (let i = 0; i < 16; i++) {
      writeFileSync(join(folder, `near-${i}.test.ts`), imported("shop/tax.ts"));
    }
    writeFileSync(join(folder, "far.test.ts"), imported("till/receipt.ts"));
    const files = new TestFiles(root, () => {});
    expect(files.nearest("src/shop/tax.ts")).toHaveLength(16);
    const farther = ["test/mall/far.test.ts", "test/till/receipt.test.ts"];
    expect(files.farther("src/shop/tax.ts").sort()).toEqual(farther);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe("mutants of a source text", () => {
  const changes = (text: string) => mutantsOf("file.ts", text).map(({ change }) => change);

  const cases: [text: string, changes: string[]][] = [
    ["if (a < b) c;", ["a < b → true", "a < b → false", "a < b → !(a < b)", "a < b → a <= b"]],
    ["x(a ?? b);", ["x(a ?? b); → ;", "a ?? b → (a)", "a ?? b → (b)"]],
    ["await disk.sync();", ["await disk.sync(); → await 0;"]],
    ["function f() { g(); }", ["{ g(); } → {}", "g(); → ;"]],
    ["const a = !b;", ["!b → b"]],
    ["const a = [1, 'x', true];", ["1 → (1 + 1)", "1 → (1 - 1)", "'x' → \"\"", "true → false"]],
    [
      "a += 'text' + b;",
      ["a += 'text' + b; → ;", "'text' → \"\"", "a += 'text' + b → a -= 'text' + b"],
    ],
  ];
  test.each(cases)("%s", (text, expected) => {
    expect(changes(text).sort()).toEqual(expected.sort());
  });

  const without = [
    'import { a } from "b";',
    'export * from "b";',
    'type A = "a" | 1;',
    "interface A { b: 1 }",
    'let a: "a" | undefined;',
    "const WAIT_MS = 5 * 1000;",
    'this.logger.warn({ at: 1 }, "Late");',
    'throw new RangeError("Late");',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a program.
    "throw new RangeError(`Late by ${1 + a} of ${b ?? c}`);",
    "class A extends B { constructor() { super(); } }",
    'class A extends Error { override readonly name = "A"; }',
    "// a < b",
    'const a = "a text that a person reads";',
    "const a = { example: { b: 'c', d: 2, e: true } };",
    "const a = { description: 'Name', summary: `Names` };",
  ];
  test.each(without)("the code has no mutant: %s", (text) => {
    const left = changes(text).filter((change) => !/^(5 \* 1000) /.test(change));
    expect(left).toEqual([]);
  });

  test("texts of the console have mutants of their logic alone", () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a program.
    const text = "const a = { b: 'Done', c: (n) => n === 1 ? `One` : `${n}x` };";
    const found = mutantsOf("src/console/texts/file.ts", text).map(({ change }) => change);
    const logic = ["n === 1 → true", "n === 1 → false", "n === 1 → n !== 1"];
    expect(found.sort()).toEqual([...logic, "1 → (1 + 1)", "1 → (1 - 1)"].sort());
  });
});

test("each known equivalent mutant names an existing line of its file", async () => {
  const stale: string[] = [];
  for (const { file, line } of equivalents) {
    const path = join(import.meta.dir, "../..", file);
    const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
    if (!lines.some((text) => text.trim() === line)) stale.push(`${file}: ${line}`);
  }
  expect(stale).toEqual([]);
});
