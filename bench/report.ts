import { mkdirSync } from "node:fs";
import { cpus } from "node:os";

export const resultsDirectory = `${import.meta.dir}/results`;

export const round2 = (value: number) => Math.round(value * 100) / 100;

/** Prints rows as a table and keeps them as `bench/results/<name>.json`. */
export async function report(
  name: string,
  rows: readonly Record<string, string | number>[],
): Promise<void> {
  process.stdout.write(`\n${name}\n${Bun.inspect.table([...rows])}\n`);
  mkdirSync(resultsDirectory, { recursive: true });
  const machine = `${cpus().length} × ${cpus()[0]?.model}`;
  const content = { name, at: new Date().toISOString(), machine, bun: Bun.version, rows };
  await Bun.write(`${resultsDirectory}/${name}.json`, `${JSON.stringify(content, null, 2)}\n`);
}
