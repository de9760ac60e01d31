import { afterAll, expect, test } from "bun:test";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeMappable } from "../../src/disk/mapped.ts";
import { failureOf, type Missing, testWith } from "../counterpart.ts";

const directory = mkdtempSync(join(tmpdir(), "mapped-"));
const mounted = join(directory, "mounted");
const btrfsMissing = smallBtrfs();
afterAll(() => {
  if (btrfsMissing === undefined) failureOf("umount", mounted);
  rmSync(directory, { recursive: true, force: true });
});

/** Mounts a btrfs of its own; the reason where this machine cannot. */
function smallBtrfs(): Missing {
  const image = join(directory, "image");
  mkdirSync(mounted);
  return (
    failureOf("truncate", "-s", "128M", image) ??
    failureOf("mkfs.btrfs", "-q", image) ??
    failureOf("mount", "-o", "loop", image, mounted)
  );
}

test("a partial file of a crashed process does not block the next process with its pid", () => {
  const path = join(directory, "again");
  writeFileSync(`${path}.${process.pid}`, "half");
  makeMappable(path, new Uint8Array(4_096));
  expect(statSync(path).size).toBe(4_096);
});

test("a file that exists keeps its content, also if it appeared meanwhile", () => {
  const path = join(directory, "kept");
  writeFileSync(path, "kept");
  makeMappable(path, new Uint8Array(4_096));
  expect(readFileSync(path, "utf8")).toBe("kept");
  // A link to nothing has a name, and does not exist for a reader.
  const link = join(directory, "link");
  symlinkSync(join(directory, "nothing"), link);
  makeMappable(link, new Uint8Array(4_096));
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(readdirSync(directory).filter((name) => /^(kept|link)\./.test(name))).toEqual([]);
});

test("a file that cannot be made is an error", () => {
  expect(() => makeMappable(join(directory, "missing/file"), new Uint8Array(1))).toThrow("ENOENT");
});

test("a file that exceeds the size limit is refused and leaves nothing behind", () => {
  const child = [process.execPath, join(import.meta.dir, "no-space-child.ts"), directory];
  const limited = ["/bin/sh", "-c", 'ulimit -f 2; exec "$0" "$@"', ...child];
  expect(Bun.spawnSync(limited, { stderr: "inherit" }).stdout.toString()).toBe("refused\n");
  expect(readdirSync(directory).filter((name) => name.startsWith("full"))).toEqual([]);
});

testWith(btrfsMissing)(
  "a full btrfs refuses a change, and kills no process that writes to its mapped pages",
  async () => {
    const child = [process.execPath, join(import.meta.dir, "full-btrfs-child.ts"), mounted];
    const { stdout, signalCode, exitCode } = Bun.spawnSync(child, { stderr: "inherit" });
    expect({ signalCode, exitCode }).toEqual({ signalCode: undefined, exitCode: 0 } as never);
    expect(JSON.parse(stdout.toString())).toMatchObject({ refused: true, after: "taken" });
  },
  300_000,
);
