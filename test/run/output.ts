/** The tests of one file, as `bun test` printed them. */
export interface FileResult {
  file: string;
  passed: number;
  failed: number;
  /** Titles of skipped tests. */
  skipped: string[];
  seconds: number;
  /** All that was printed for the file, without the lines of tests that pass or are skipped. */
  output: string;
}

interface Ending {
  started: number;
  ended: number;
  exitCode: number | null;
  /** CPU time without a printed line, after which the process was killed. */
  spinningSeconds?: number | undefined;
}

/** Splits what one process of `bun test` printed by its files. */
export function parseOutput(
  files: string[],
  lines: { at: number; line: string }[],
  { started, ended, exitCode, spinningSeconds }: Ending,
): FileResult[] {
  const results = new Map(files.map((file) => [file, emptyResult(file)]));
  const outputs = new Map(files.map((file) => [file, [] as string[]]));
  let current = results.get(files[0]!)!;
  let since = started;
  let isComplete = false;
  for (const { at, line } of lines) {
    const named = results.get(line.replace(/:$/, ""));
    if (named !== undefined && line.endsWith(":")) {
      current.seconds += (at - since) / 1_000;
      since = at;
      current = named;
      continue;
    }
    if (/^Ran \d+ tests? across/.test(line)) isComplete = true;
    // The summary repeats failures and skipped tests.
    if (/^\d+ tests? (failed|skipped)/.test(line.trim())) break;
    if (line.startsWith("(pass) ")) current.passed += 1;
    else if (line.startsWith("(skip) ")) current.skipped.push(line.slice("(skip) ".length));
    else {
      if (line.startsWith("(fail) ")) current.failed += 1;
      outputs.get(current.file)!.push(line);
    }
  }
  isComplete ||= lines.some(({ line }) => /^Ran \d+ tests? across/.test(line));
  current.seconds += (ended - since) / 1_000;
  const failed = [...results.values()].some((result) => result.failed > 0);
  if (!isComplete || (exitCode !== 0 && !failed)) {
    current.failed += 1;
    const reason =
      spinningSeconds === undefined
        ? `The process ended early or failed: exit code ${exitCode}`
        : `The process was killed: it printed no line for ${Math.round(spinningSeconds)} s of CPU time`;
    outputs.get(current.file)!.push(reason);
  }
  for (const result of results.values())
    result.output = outputs.get(result.file)!.join("\n").trim();
  return [...results.values()];
}

const emptyResult = (file: string): FileResult => ({
  file,
  passed: 0,
  failed: 0,
  skipped: [],
  seconds: 0,
  output: "",
});
