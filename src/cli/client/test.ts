import { statSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import { pluralize } from "../../console/format.ts";
import { orStartError, StartError } from "../../errors.ts";
import {
  type LocalCode,
  readCodeDirectory,
  readTests,
  readText,
  rootAbove,
} from "../code/code-directory.ts";
import type { CodeContent } from "../code/code-item.ts";
import { junitText } from "../code/junit.ts";
import { runTests, type TestOutcome } from "../code/run-tests.ts";
import { type CommandCall, clientCommand } from "../connection/client-command.ts";
import { jsonText, plain, plainLines, wrap } from "../terminal/text.ts";

export const test = clientCommand(
  "test",
  "Run code of a file or directory over its test cases on the server",
  {
    path: { type: "positional", required: true, description: "a file of code, or a directory" },
    junit: { type: "string", description: "write a report of JUnit", valueHint: "file" },
    json: { type: "boolean", description: "print JSON" },
  },
  async (call) => {
    const { client, args, output } = call;
    const { chosen, libraries } = codeAt(String(args.path));
    const outcomes: TestOutcome[] = [];
    for (const { path, content } of chosen) {
      const found = await runTests(client, { path, content, libraries });
      outcomes.push(...found);
      if (args.json !== true) for (const outcome of found) printOutcome(call, outcome);
    }
    const failed = outcomes.filter(({ passed }) => !passed).length;
    if (args.junit !== undefined) writeReport(String(args.junit), outcomes);
    if (args.json === true) output.print(jsonText(outcomes, 2));
    else {
      const passed = `${outcomes.length - failed} passed`;
      output.print(failed > 0 ? `${output.paint("red", `${failed} failed`)}, ${passed}` : passed);
    }
    return failed > 0 ? 1 : 0;
  },
);

/**
 * Returns the transformations and libraries at `path` (a file or a directory) as `chosen`. Also
 * returns all libraries of the directory of code that contains the path.
 */
function codeAt(path: string): { chosen: LocalCode[]; libraries: CodeContent[] } {
  const isFile = orStartError(`Cannot read ${path}`, () => statSync(path)).isFile();
  const root = rootAbove(isFile ? dirname(path) : path);
  const all = root === undefined ? [] : readCodeDirectory(root);
  const libraries = all.map(({ content }) => content).filter(({ kind }) => kind === "library");
  const directory = resolve(isFile ? dirname(path) : path);
  const own = all.filter((it) => {
    const place = join(root!, it.path);
    return isFile ? place === directory : isWithin(directory, place);
  });
  const isCode = isFile && basename(path).startsWith("code.");
  if (own.length > 0 && (!isFile || isCode)) return { chosen: own, libraries };
  if (isFile) return { chosen: [looseFile(path)], libraries };
  throw new StartError(`Expected transformations or libraries in ${path}, got none`);
}

/**
 * Reads a transformation from a file that is not part of a directory of code. Its test cases are in
 * the folder `tests` beside the file.
 */
function looseFile(path: string): LocalCode {
  const extension = extname(path);
  if (![".js", ".py"].includes(extension)) {
    throw new StartError(`Expected a file that ends with .js or .py, got ${path}`);
  }
  const content: CodeContent = {
    kind: "transformation",
    name: basename(path, extension),
    description: "",
    language: extension === ".js" ? "javascript" : "python",
    code: readText(path),
    tests: readTests(join(dirname(path), "tests")),
  };
  return { path, content };
}

const isWithin = (outer: string, inner: string) => !relative(outer, inner).startsWith("..");

function printOutcome({ output }: CommandCall, outcome: TestOutcome): void {
  const { path, name, passed, reasons, logs } = outcome;
  const mark = passed ? output.paint("green", "pass") : output.paint("red", "FAIL");
  output.print(`${mark}  ${plain(path)}: ${plain(name)}`);
  const shown = passed ? reasons : [...reasons, ...logs.map((line) => `log: ${line}`)];
  for (const line of shown.flatMap((it) => plainLines(it).split("\n"))) {
    output.print(...wrap(line, output.columns - 6).map((part) => `      ${part}`));
  }
}

function writeReport(file: string, outcomes: readonly TestOutcome[]): void {
  const failure = `Cannot write ${pluralize(outcomes.length, "outcome")} to ${file}`;
  orStartError(failure, () => writeFileSync(file, junitText(outcomes)));
}
