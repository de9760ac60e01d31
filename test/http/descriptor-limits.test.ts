import { expect, test } from "bun:test";
import { join } from "node:path";

const path = join(import.meta.dir, "../../src/http/descriptor-limits.ts");

/** The limits of a process that may open a number of files. */
function limitsAt(files: number) {
  const script = `import { readDescriptorLimits } from ${JSON.stringify(path)};
    console.log(JSON.stringify(readDescriptorLimits()));`;
  const shell = `ulimit -n ${files}; exec "$@"`;
  const command = ["sh", "-c", shell, "sh", process.execPath, "-e", script];
  return JSON.parse(Bun.spawnSync(command, { stderr: "inherit" }).stdout.toString());
}

test("connections may use the descriptors that 128 others leave, and half of few", () => {
  expect(limitsAt(1_000)).toEqual({ max: 1_000, connectionsMax: 872 });
  expect(limitsAt(201)).toEqual({ max: 201, connectionsMax: 101 });
});
