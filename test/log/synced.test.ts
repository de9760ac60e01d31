import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { listSegments } from "../../src/log/segment/segments.ts";
import { failureOf, testWith } from "../counterpart.ts";
import { appendEach, openTextWriter, temporaryDirectory } from "./support.ts";

const straceMissing = failureOf("strace", "-o", "/dev/null", "true");

/** System calls of a process that opens this log and appends a record, in order. */
async function callsOf(directory: string): Promise<string[]> {
  const trace = join(temporaryDirectory(), "trace");
  const script = join(import.meta.dir, "synced-child.ts");
  const named = "openat,open,fsync,fdatasync,write,writev,pwrite64,pwritev,pwritev2";
  const options = ["-f", "-y", "-qq", "-s", "16", "-e", "signal=none", "-e", `trace=${named}`];
  const command = ["strace", ...options, "-o", trace, process.execPath, script, directory];
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "inherit" });
  expect(await new Response(child.stdout).text()).toBe("openedkept");
  expect(await child.exited).toBe(0);
  return readFileSync(trace, "utf8").split("\n");
}

/** Where the first call is that has all these parts, at `from` or later; fails without one. */
function placeOf(calls: readonly string[], parts: readonly string[], from = 0): number {
  const at = calls.findIndex((call, i) => i >= from && parts.every((part) => call.includes(part)));
  if (at < 0) throw new Error(`Expected a call with ${parts.join(" and ")} from line ${from} on`);
  return at;
}

testWith(straceMissing)(
  "a log's records are on disk before it opens, and appended records before the acknowledgement",
  async () => {
    const directory = temporaryDirectory();
    const before = await openTextWriter(directory);
    await appendEach(before, ["of the process before"]);
    await before.close();
    const [old] = listSegments(directory);

    const calls = await callsOf(directory);
    const [, segment] = listSegments(directory);
    // A process that was killed may have left its blocks in the page cache, and readers take them.
    const recovered = placeOf(calls, ["fsync(", `<${old!.path}>`]);
    const created = placeOf(calls, [`"${segment!.path}"`, "O_CREAT"], recovered);
    expect(calls[created]).toContain("O_DSYNC");
    const named = placeOf(calls, ["fsync(", `<${directory}>`], created);
    const opened = placeOf(calls, ["write(1<", '"opened"'], named);
    const written = placeOf(calls, ["write", `<${segment!.path}>`], opened);
    placeOf(calls, ["write(1<", '"kept"'], written);
    const others = calls.filter((call) => call.includes(`"${segment!.path}"`));
    for (const call of others) expect(call).toContain("O_DSYNC");
  },
  300_000,
);
