import { afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fetchModule } from "../../src/package/foreign-modules.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";

const NAME = "@lmdb/lmdb-linux-arm64";
const ARCHIVE = "an archive";
const integrity = `sha512-${createHash("sha512").update(ARCHIVE).digest("base64")}`;
const lockOf = (locked: { version: string; integrity?: string } | undefined) => {
  return { packages: { [`node_modules/${NAME}`]: locked } };
};
const lock = lockOf({ version: "3.4.5", integrity });

let place: string;
let commands: { command: string[]; cwd: string }[];
/** What npm writes, and how the commands end. */
let archive: string | undefined;
let failure: string | undefined;
let spies: { mockRestore(): void }[];

beforeEach(() => {
  place = temporaryDirectory();
  commands = [];
  archive = ARCHIVE;
  failure = undefined;
  const run = (command: string[], { cwd }: { cwd: string }) => {
    commands.push({ command, cwd });
    if (failure !== undefined) return { exitCode: 1, stderr: Buffer.from(`${failure}\n`) };
    if (command[0] === "npm" && archive !== undefined) writeFileSync(join(cwd, "a.tgz"), archive);
    if (command[0] === "tar") {
      mkdirSync(join(cwd, "package"));
      writeFileSync(join(cwd, "package/addon"), readFileSync(command.at(-1)!));
    }
    return { exitCode: 0, stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  };
  spies = [
    spyOn(Bun, "spawnSync").mockImplementation(run as never),
    spyOn(Bun, "which").mockImplementation((name) => `/usr/bin/${name}`),
  ];
});
afterEach(() => {
  for (const spy of spies) spy.mockRestore();
  removeDirectory(place);
});

const directory = () => join(place, `${NAME}-3.4.5`);
const left = () => (existsSync(dirname(directory())) ? readdirSync(dirname(directory())) : []);

test("a package for another processor is fetched once, in the version of the lock file", () => {
  expect(fetchModule(NAME, lock, place)).toBe(directory());
  expect(readFileSync(join(directory(), "addon"), "utf8")).toBe(ARCHIVE);
  expect(left()).toEqual([basename(directory())]);
  const [npm, tar] = commands;
  expect(npm!.command).toEqual([
    ...["npm", "pack", "--silent", "--ignore-scripts", `${NAME}@3.4.5`],
  ]);
  expect(tar!.command).toEqual(["tar", "-xzf", join(npm!.cwd, "a.tgz")]);
  expect([tar!.cwd, npm!.cwd.startsWith(`${directory()}.part-`)]).toEqual([npm!.cwd, true]);
  expect(fetchModule(NAME, lock, place)).toBe(directory());
  expect(commands).toHaveLength(2);
});

test("a package with another hash than the lock file's is refused", () => {
  archive = "another one";
  expect(() => fetchModule(NAME, lock, place)).toThrow(
    `Expected ${NAME}@3.4.5 with the hash ${integrity} of package-lock.json, got sha512-`,
  );
  expect([left(), commands.length]).toEqual([[], 1]);
});

test("a package that cannot be fetched leaves nothing, and the reason is named", () => {
  failure = "no network";
  expect(() => fetchModule(NAME, lock, place)).toThrow(
    `npm pack --silent --ignore-scripts ${NAME}@3.4.5 failed: no network`,
  );
  failure = undefined;
  archive = undefined;
  expect(() => fetchModule(NAME, lock, place)).toThrow(`npm pack ${NAME}@3.4.5 wrote no archive`);
  expect(left()).toEqual([]);
});

test("a package needs npm, and a hash in the lock file", () => {
  for (const locked of [undefined, { version: "3.4.5" }]) {
    expect(() => fetchModule(NAME, lockOf(locked), place)).toThrow(
      `Expected package-lock.json to have a version and a hash of ${NAME}`,
    );
  }
  spyOn(Bun, "which").mockReturnValue(null);
  expect(() => fetchModule(NAME, lock, place)).toThrow(
    `Expected npm, which fetches ${NAME}@3.4.5; install Node.js`,
  );
  expect(commands).toEqual([]);
});
