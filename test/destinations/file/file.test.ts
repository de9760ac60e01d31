import { afterEach, beforeEach, describe, expect, setSystemTime, spyOn, test } from "bun:test";
import { randomBytes } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { type FileHandle, open as openFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileKind } from "../../../src/destinations/file/file.ts";
import { FILE_LINE_BYTES_MAX } from "../../../src/destinations/file/limits.ts";
import { testWith } from "../../counterpart.ts";
import { mountDisk, mountMissing, unmountDisk } from "../../small-disk.ts";
import { until } from "../../until.ts";
import { eventsOf } from "../formats.ts";
import { outgoing } from "../outgoing.ts";

/** The directory of all workspaces. */
let files: string;
/** The directory of the workspace of most tests. */
let root: string;
let outside: string;
beforeEach(() => {
  files = mkdtempSync(join(tmpdir(), "files-"));
  root = join(files, "team");
  mkdirSync(root);
  outside = mkdtempSync(join(tmpdir(), "outside-"));
});
afterEach(() => {
  setSystemTime();
  for (const directory of [files, outside]) rmSync(directory, { recursive: true });
});

const idle = new AbortController().signal;
const event = (n: number) => outgoing({ n });
const read = (path: string) => readFileSync(join(root, path), "utf8");
const open = (path: string) => fileKind(files).open({ path }, "team");

test("workspaces with the same path have files of their own", async () => {
  const kind = fileKind(files);
  for (const [index, workspace] of ["team", "others"].entries()) {
    const destination = kind.open({ path: "f" }, workspace);
    await destination.deliver([event(index)], idle);
    await destination.close();
  }
  expect(read("f")).toBe('{"n":0}\n');
  expect(readFileSync(join(files, "others/f"), "utf8")).toBe('{"n":1}\n');
});

async function deliver(path: string, ...numbers: number[]) {
  const destination = open(path);
  const verdict = await destination.deliver(numbers.map(event), idle);
  await destination.close();
  return verdict;
}

test("a connection test writes beside the file of the destination alone, and leaves nothing", async () => {
  const steps = await fileKind(files).test({ path: "a/b/f.jsonl" }, "team", idle);
  expect(steps.map(({ step, ok }) => [step, ok])).toEqual([
    ["write", true],
    ["clean-up", true],
  ]);
  expect(readdirSync(files, { recursive: true }).map(String).sort()).toEqual([
    ...["team", "team/a", "team/a/b"],
  ]);
});

describe("a file's last line", () => {
  const long = "x".repeat(3 << 20);
  const cases = [
    { name: "whole", before: '{"n":0}\n', after: '{"n":0}\n{"n":1}\n' },
    { name: "without its newline", before: '{"n":0}', after: '{"n":0}\n{"n":1}\n' },
    { name: "cut by a crash", before: '{"n":0}\n{"n":', after: '{"n":0}\n{"n":1}\n' },
    { name: "cut by a crash, and the only one", before: '{"n', after: '{"n":1}\n' },
    { name: "of one byte", before: "{", after: '{"n":1}\n' },
    { name: "a text of another program", before: "note", after: 'note\n{"n":1}\n' },
    {
      name: "of 3 MB, whole but for its newline",
      before: `{"n":0}\n{"x":"${long}"}`,
      after: `{"n":0}\n{"x":"${long}"}\n{"n":1}\n`,
    },
    {
      name: "of 3 MB, cut by a crash",
      before: `{"n":0}\n{"x":"${long}`,
      after: '{"n":0}\n{"n":1}\n',
    },
    {
      name: "of 3 MB, cut by a crash, and the only one",
      before: `{"x":"${long}`,
      after: '{"n":1}\n',
    },
    {
      name: "of zeros that a loss of power left",
      before: `{"n":0}\n${"\0".repeat(700)}`,
      after: '{"n":0}\n{"n":1}\n',
    },
    {
      name: "of half an event and zeros",
      before: `{"n":0}\n{"n":${"\0".repeat(10)}`,
      after: '{"n":0}\n{"n":1}\n',
    },
    {
      name: "whole, behind a sector of zeros in the same append",
      before: `{"n":0}\n${"\0".repeat(504)}"x"}\n{"n":7}\n`,
      after: '{"n":0}\n{"n":1}\n',
    },
    {
      name: "a text of another program with a zero in it",
      before: '{"n":0}\na\0b\n',
      after: '{"n":0}\na\0b\n{"n":1}\n',
    },
    { name: "of 3 MB, a text of another program", before: long, after: `${long}\n{"n":1}\n` },
  ];
  test.each(cases)("$name leaves the next line intact", async ({ before, after }) => {
    writeFileSync(join(root, "f"), before);
    expect(await deliver("f", 1)).toEqual({ kind: "delivered" });
    expect(read("f") === after).toBe(true);
  });

  test("is found at any offset", async () => {
    const first = `{"n":0}${" ".repeat(200_000)}\n`;
    for (const length of [65_534, 65_535, 65_536, 65_537, 131_071, 131_072, 131_073]) {
      writeFileSync(join(root, "f"), first + '{"n":'.padEnd(length));
      await deliver("f", 1);
      expect(read("f") === `${first}{"n":1}\n`).toBe(true);
    }
  });

  test("stays when it is too long for an event", async () => {
    const text = `{${" ".repeat(FILE_LINE_BYTES_MAX + (1 << 20))}`;
    writeFileSync(join(root, "f"), text);
    await deliver("f", 1);
    expect(read("f") === `${text}\n{"n":1}\n`).toBe(true);
  });

  test("an incomplete line that another process appends meanwhile is repaired as well", async () => {
    const destination = open("f");
    await destination.deliver([event(1)], idle);
    appendFileSync(join(root, "f"), "note");
    await destination.deliver([event(2)], idle);
    await destination.close();
    expect(read("f")).toBe('{"n":1}\nnote\n{"n":2}\n');
  });

  test("line breaks between the tokens of an event become spaces", async () => {
    const destination = open("f");
    await destination.deliver([outgoing(Buffer.from('{\n"n":\n1}')), event(2)], idle);
    await destination.close();
    expect(read("f")).toBe('{ "n": 1}\n{"n":2}\n');
  });
});

/** A link, unless the delivery has just made a directory of that name. */
function symlink(target: string, path: string): void {
  try {
    symlinkSync(target, path);
  } catch (error) {
    if (!String(error).includes("EEXIST")) throw error;
  }
}

describe("a file that disappears", () => {
  test.each(["moved", "deleted"])("%s while it is open: a new one is begun", async (how) => {
    const destination = open("f");
    await destination.deliver([event(1)], idle);
    if (how === "moved") renameSync(join(root, "f"), join(root, "f.1"));
    else rmSync(join(root, "f"));
    await destination.deliver([event(2)], idle);
    await destination.close();
    expect(read("f")).toBe('{"n":2}\n');
    if (how === "moved") expect(read("f.1")).toBe('{"n":1}\n');
  });
});

describe("a path that leads out of the directory", () => {
  test("a symbolic link as the file, as a directory, or to a device is not followed", async () => {
    symlinkSync(join(outside, "target"), join(root, "link"));
    symlinkSync(outside, join(root, "dir"));
    symlinkSync("/dev/null", join(root, "null"));
    for (const path of ["link", "dir/f", "null"]) {
      expect((await deliver(path, 1)).kind).toBe("rejected");
    }
    expect(readdirSync(outside)).toEqual([]);
  });

  test("a link that is swapped in while it is open is not followed", async () => {
    const destination = open("sub/f");
    await destination.deliver([event(1)], idle);
    renameSync(join(root, "sub"), join(root, "old"));
    symlinkSync(outside, join(root, "sub"));
    expect((await destination.deliver([event(2)], idle)).kind).toBe("rejected");
    await destination.close();
    expect(readdirSync(outside)).toEqual([]);
    expect(read("old/f")).toBe('{"n":1}\n');
  });

  test("a directory swapped for a link again and again never leads out", async () => {
    const destination = open("sub/f");
    mkdirSync(join(root, "real"));
    let stop = false;
    const swapping = (async () => {
      while (!stop) {
        rmSync(join(root, "sub"), { recursive: true, force: true });
        if (!existsSync(join(root, "sub"))) symlink(outside, join(root, "sub"));
        await Bun.sleep(0);
        rmSync(join(root, "sub"), { recursive: true, force: true });
        await Bun.sleep(0);
      }
    })();
    for (let n = 0; n < 300; n++) await destination.deliver([event(n)], idle);
    stop = true;
    await swapping;
    await destination.close();
    expect(readdirSync(outside)).toEqual([]);
  });

  test("a FIFO and a directory in its place are refused, not waited for", async () => {
    expect(Bun.spawnSync(["mkfifo", join(root, "fifo")]).exitCode).toBe(0);
    mkdirSync(join(root, "taken"));
    expect((await deliver("fifo", 1)).kind).toBe("rejected");
    expect((await deliver("taken", 1)).kind).toBe("rejected");
  });
});

describe("rotated files", () => {
  const openWith = (over: Record<string, unknown>) =>
    fileKind(files).open({ path: "in/events.jsonl", ...over }, "team");
  const names = () => (existsSync(join(root, "in")) ? readdirSync(join(root, "in")).sort() : []);
  const ended = () => names().filter((name) => name !== "events.jsonl");
  const numbersIn = (name: string) =>
    read(`in/${name}`)
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line).n);

  test("by size have names in order of rotation, and lose no event", async () => {
    const destination = openWith({ rotateBytes: 1_024 });
    for (let n = 0; n < 500; n++) await destination.deliver([event(n)], idle);
    await destination.close();
    expect(ended().length).toBeGreaterThan(3);
    for (const name of ended()) expect(name).toMatch(/^events-\d{8}T\d{9}Z\.jsonl$/);
    const numbers = [...ended(), "events.jsonl"].flatMap(numbersIn);
    expect(numbers).toEqual(Array.from({ length: 500 }, (_, n) => n));
  });

  test("by age are rotated without further events, also after a restart", async () => {
    const first = openWith({ rotateAgeMs: 100 });
    await first.deliver([event(0)], idle);
    while (ended().length < 1) await Bun.sleep(5);
    expect(names().length).toBe(1);
    await first.deliver([event(1)], idle);
    await first.close();
    await Bun.sleep(150);
    const second = openWith({ rotateAgeMs: 100 });
    await second.deliver([event(2)], idle);
    while (!ended().flatMap(numbersIn).includes(2)) await Bun.sleep(5);
    await second.close();
    expect(ended().flatMap(numbersIn)).toEqual([0, 1, 2]);
  });

  test("by age are rotated by the time that passed, even if the clock is set", async () => {
    const destination = openWith({ rotateAgeMs: 60_000 });
    setSystemTime(Date.now() + 3_600_000);
    for (let n = 0; n < 3; n++) await destination.deliver([event(n)], idle);
    expect(ended()).toEqual([]);
    await destination.close();
    setSystemTime();
    const second = openWith({ rotateAgeMs: 100 });
    await second.deliver([event(3)], idle);
    await until(() => ended().length === 1);
    await second.deliver([event(4)], idle);
    setSystemTime(Date.now() - 3_600_000);
    await until(() => ended().length === 2);
    setSystemTime();
    await second.close();
  });

  test("sort after older ones even if the clock was set back", async () => {
    mkdirSync(join(root, "in"));
    writeFileSync(join(root, "in/events-29990101T000000000Z.jsonl"), '{"n":-1}\n');
    const destination = openWith({ rotateBytes: 1_024, rotateAgeMs: 1 });
    for (let n = 0; n < 5; n++) {
      await destination.deliver([event(n)], idle);
      await Bun.sleep(3);
    }
    await destination.close();
    expect(names().flatMap(numbersIn)).toEqual([-1, 0, 1, 2, 3, 4]);
  });

  test("beyond the number to keep are deleted, and foreign files stay", async () => {
    mkdirSync(join(root, "in"));
    const others = ["events-notes.jsonl", "events-2026.jsonl", "events-20200101T000000Z.csv", "x"];
    for (const name of others) writeFileSync(join(root, "in", name), "mine");
    const destination = openWith({ rotateBytes: 1_024, keepFiles: 2 });
    for (let n = 0; n < 500; n++) await destination.deliver([event(n)], idle);
    await destination.close();
    for (const name of others) expect(read(`in/${name}`)).toBe("mine");
    const kept = ended().filter((name) => !others.includes(name));
    expect(kept.length).toBe(2);
    expect(numbersIn("events.jsonl").at(-1)).toBe(499);
    expect(numbersIn(kept[1]!).at(-1)! + 1).toBe(numbersIn("events.jsonl")[0]);
  });

  test.each([{}, { format: "parquet", path: "in/events.jsonl" }])(
    "are kept by their age (%j)",
    async (over) => {
      mkdirSync(join(root, "in"));
      const old = "events-20200101T000000Z-0-7-abc.jsonl";
      writeFileSync(join(root, "in", old), "old");
      const destination = openWith({ rotateBytes: 1_024, keepAgeMs: 3_600_000, ...over });
      const many = Array.from({ length: 200 }, (_, n) => event(n));
      await destination.deliver(many, idle, "20990101T000000Z-0-8-abc");
      await destination.close();
      expect(existsSync(join(root, "in", old))).toBe(false);
      expect(ended().length).toBe(1);
    },
  );

  test("are kept while the clock is ahead", async () => {
    const destination = openWith({ rotateBytes: 1_024, keepAgeMs: 3_600_000 });
    const many = Array.from({ length: 200 }, (_, n) => event(n));
    await destination.deliver(many, idle);
    const [first] = ended();
    setSystemTime(Date.now() + 86_400_000);
    await destination.deliver(many, idle);
    await destination.close();
    expect(ended()).toContain(first!);
    expect(ended().length).toBe(2);
  });

  test("a name that is taken is not overwritten, nor is a link followed", async () => {
    symlinkSync(outside, join(root, "in"));
    for (const over of [{ rotateBytes: 1_024 }, { format: "parquet" }]) {
      const verdict = await openWith(over).deliver([event(1)], idle, "20260101T000000Z-a");
      expect(verdict.kind).toBe("rejected");
    }
    expect(readdirSync(outside)).toEqual([]);
  });
});

test("a Parquet file that is written again replaces itself, and leaves no half of it", async () => {
  const destination = fileKind(files).open({ path: "p/e.parquet", format: "parquet" }, "team");
  for (const numbers of [
    [0, 1],
    [0, 1, 2],
  ]) {
    const verdict = await destination.deliver(numbers.map(event), idle, "20260101T000000Z-0-1-a");
    expect(verdict).toEqual({ kind: "delivered" });
  }
  const name = "e-20260101T000000Z-0-1-a.parquet";
  expect(readdirSync(join(root, "p"))).toEqual([name]);
  const bytes = readFileSync(join(root, "p", name));
  expect(await eventsOf(name, bytes)).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }]);
});

test.each([
  ["the clock was set back", { keepFiles: 2 }],
  ["its delivery was retried for longer than files are kept", { keepAgeMs: 3_600_000 }],
])("a Parquet file is kept although %s", async (_, keeping) => {
  const config = { path: "p/e.parquet", format: "parquet", ...keeping } as const;
  const destination = fileKind(files).open(config, "team");
  const hours = ["20990101T110000Z", "20990101T120000Z", "20200101T100000Z", "20200101T110000Z"];
  const kept = () => readdirSync(join(root, "p")).sort();
  const numbersIn = async (name: string) =>
    (await eventsOf(name, readFileSync(join(root, "p", name)))).map(
      (it) => (it as { n: number }).n,
    );
  mkdirSync(join(root, "p"));
  for (const hour of hours.slice(0, 2)) writeFileSync(join(root, `p/e-${hour}-x.parquet`), "");
  for (const [n, hour] of hours.entries()) {
    if (n < 2) continue;
    // The second attempt replaces what the first has written.
    for (const numbers of [[n], [n, n + 10]]) {
      const verdict = await destination.deliver(numbers.map(event), idle, `${hour}-0-${n}-a`);
      expect(verdict).toEqual({ kind: "delivered" });
      expect(await numbersIn(kept().at(-1)!)).toEqual(numbers);
    }
  }
  const written = kept().filter((name) => !name.endsWith("-x.parquet"));
  expect(await Promise.all(written.map(numbersIn))).toEqual([
    [2, 12],
    [3, 13],
  ]);
});

test("a Parquet file is flushed before it has its name, and its name before it is answered", async () => {
  const handle = await openFile(files);
  const name = "e-20260101T000000Z-a.parquet";
  const flushed: string[] = [];
  async function sync(this: FileHandle) {
    const what = (await this.stat()).isFile() ? "file" : "directory";
    flushed.push(`${what} ${readdirSync(root).includes(name) ? "with" : "without"} the name`);
  }
  const spy = spyOn(Object.getPrototypeOf(handle), "sync").mockImplementation(sync);
  try {
    const destination = fileKind(files).open({ path: "e.parquet", format: "parquet" }, "team");
    await destination.deliver([event(1)], idle, "20260101T000000Z-a");
    expect(flushed.slice(-2)).toEqual(["file without the name", "directory with the name"]);
  } finally {
    spy.mockRestore();
    await handle.close();
  }
});

test("the name of a new file of lines is durable before its events are acknowledged", async () => {
  const handle = await openFile(files);
  const named: boolean[] = [];
  async function sync(this: FileHandle) {
    if ((await this.stat()).isDirectory()) named.push(existsSync(join(root, "f")));
  }
  const spy = spyOn(Object.getPrototypeOf(handle), "sync").mockImplementation(sync);
  try {
    expect(await deliver("f", 1)).toEqual({ kind: "delivered" });
    expect(named.at(-1)).toBe(true);
  } finally {
    spy.mockRestore();
    await handle.close();
  }
});

describe("a disk that is full", () => {
  testWith(mountMissing)("leaves nothing of a Parquet file that does not fit", async () => {
    const mount = join(files, "mount");
    mkdirSync(mount);
    mountDisk(mount, 64 << 10);
    try {
      const config = { path: "p/e.parquet", format: "parquet" } as const;
      const destination = fileKind(mount).open(config, "team");
      const noise = randomBytes(200_000).toBase64();
      const verdict = await destination.deliver([outgoing({ noise })], idle, "20260101T000000Z-a");
      const reason = "The file cannot be written (ENOSPC)";
      expect(verdict).toEqual({ kind: "retry", reason });
      expect(readdirSync(join(mount, "team/p"))).toEqual([]);
      const again = await destination.deliver([event(1)], idle, "20260101T000000Z-a");
      expect(again).toEqual({ kind: "delivered" });
      expect(readdirSync(join(mount, "team/p"))).toEqual(["e-20260101T000000Z-a.parquet"]);
    } finally {
      unmountDisk(mount);
    }
  });

  testWith(mountMissing)("is tried again later, has no torn line, and recovers", async () => {
    const mount = join(files, "mount");
    mkdirSync(mount);
    mountDisk(mount, 64 << 10);
    try {
      const destination = fileKind(mount).open({ path: "f" }, "team");
      const big = Buffer.from(JSON.stringify({ n: 1, text: "x".repeat(40_000) }));
      const bigger = outgoing(big);
      expect(await destination.deliver([bigger], idle)).toEqual({ kind: "delivered" });
      const verdict = await destination.deliver([bigger], idle);
      expect(verdict.kind).toBe("retry");
      expect(readFileSync(join(mount, "team/f"), "utf8")).toBe(`${big}\n`);
      expect(await destination.deliver([event(2)], idle)).toEqual({ kind: "delivered" });
      await destination.close();
      expect(existsSync(join(mount, "team/f"))).toBe(true);
      expect(readFileSync(join(mount, "team/f"), "utf8")).toBe(`${big}\n{"n":2}\n`);
    } finally {
      unmountDisk(mount);
    }
  });
});
