import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Mutant } from "./mutants.ts";
import { endTests } from "./tests.ts";

/** Files that a run of tests reads and a mutant may change; the rest is linked. */
const COPIED = ["src", "test", "package.json", "tsconfig.json", "bunfig.toml"];
const LINKED = ["node_modules", "dist"];

const open = new Set<Copy>();
// However the process ends, no copy and no run of tests outlives it.
process.on("exit", () => {
  endTests();
  for (const copy of open) copy.close();
});
for (const [signal, code] of [["SIGINT", 130] as const, ["SIGTERM", 143] as const]) {
  process.on(signal, () => process.exit(code));
}

/** A project's tree in a temporary directory, in which files are made faulty and whole again. */
export class Copy {
  readonly directory = mkdtempSync(join(tmpdir(), "mutate-"));
  /** Where its tests make their temporary files, so that these go with the copy. */
  readonly temporary = join(this.directory, "tmp");

  constructor(root: string) {
    open.add(this);
    mkdirSync(this.temporary);
    for (const name of COPIED) {
      cpSync(join(root, name), join(this.directory, name), {
        recursive: true,
        errorOnExist: false,
      });
    }
    for (const name of LINKED) symlinkSync(join(root, name), join(this.directory, name));
  }

  /** Resolves to what `work` does while the mutant stands in its file. */
  async with<T>(mutant: Mutant, work: () => Promise<T>): Promise<T> {
    const path = join(this.directory, mutant.file);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.slice(0, mutant.start) + mutant.replacement + text.slice(mutant.end));
    try {
      return await work();
    } finally {
      writeFileSync(path, text);
    }
  }

  close(): void {
    open.delete(this);
    // A test that was stopped may have left a small disk of its own.
    for (const [, path] of readFileSync("/proc/mounts", "utf8").matchAll(/^\S+ (\S+)/gm)) {
      if (path!.startsWith(this.directory)) spawnSync("umount", ["-l", path!]);
    }
    rmSync(this.directory, { recursive: true, force: true });
  }
}
