import { mkdirSync } from "node:fs";
import { cpus } from "node:os";

/** Prints rows as a table and keeps them as `bench/results/<name>.json`. */
export async function report(
  name: string,
  rows: readonly Record<string, string | number>[],
): Promise<void> {
  process.stdout.write(`\n${name}\n${Bun.inspect.table([...rows])}\n`);
  const directory = `${import.meta.dir}/results`;
  mkdirSync(directory, { recursive: true });
  const machine = `${cpus().length} × ${cpus()[0]?.model}`;
  const content = { name, at: new Date().toISOString(), machine, bun: Bun.version, rows };
  await Bun.write(`${directory}/${name}.json`, `${JSON.stringify(content, null, 2)}\n`);
}
