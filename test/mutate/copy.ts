import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Mutant } from "./mutants.ts";
import { endTests } from "./tests.ts";

/**
 * Files that are copied, since tests read them or mutants change them; the others are linked. A
 * mutant of the console changes its bundle, too.
 */
const COPIED = [
  ...["src", "test", "docs", "dist/console", "dist/python", "package.json", "package-lock.json"],
  ...["tsconfig.json", "bunfig.toml", "LICENSE"],
];
const LINKED = ["node_modules", "bench", "packaging", ".ci"];

const open = new Set<Copy>();
// Removes all copies and ends all test runs when the process exits for any reason.
process.on("exit", () => {
  endTests();
  for (const copy of open) copy.close();
});
for (const [signal, code] of [["SIGINT", 130] as const, ["SIGTERM", 143] as const]) {
  process.on(signal, () => process.exit(code));
}

/** Copy of a project in a temporary directory, in which mutants are applied and undone. */
export class Copy {
  readonly directory = mkdtempSync(join(tmpdir(), "mutate-"));
  /** Directory for temporary files of its tests, which is removed with the copy. */
  readonly temporary = join(this.directory, "tmp");

  constructor(root: string) {
    open.add(this);
    // PostgreSQL, which runs as another user, reads files below.
    chmodSync(this.directory, 0o755);
    mkdirSync(this.temporary);
    const documents = readdirSync(root).filter((name) => name.endsWith(".md"));
    for (const name of [...COPIED, ...documents]) {
      if (!existsSync(join(root, name))) continue;
      cpSync(join(root, name), join(this.directory, name), {
        recursive: true,
        errorOnExist: false,
      });
    }
    for (const name of LINKED) {
      if (existsSync(join(root, name))) symlinkSync(join(root, name), join(this.directory, name));
    }
  }

  /** Runs `work` while the mutant is applied; resolves with its result. */
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
    // A stopped test may have left a mounted small disk.
    for (const [, path] of readFileSync("/proc/mounts", "utf8").matchAll(/^\S+ (\S+)/gm)) {
      if (path!.startsWith(this.directory)) spawnSync("umount", ["-l", path!]);
    }
    rmSync(this.directory, { recursive: true, force: true });
  }
}
