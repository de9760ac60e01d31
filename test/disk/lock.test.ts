import { afterAll, expect } from "bun:test";
import { chownSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lockFile } from "../../src/disk/lock.ts";
import { rootMissing, testWith } from "../counterpart.ts";

const directory = mkdtempSync(join(tmpdir(), "lock-"));
afterAll(() => rmSync(directory, { recursive: true }));

const OWNER = 12_345;

testWith(rootMissing)(
  "a lock that a command of root makes can be taken by the server whose directory it is in",
  () => {
    chownSync(directory, OWNER, OWNER);
    const path = join(directory, "trimming");
    lockFile(path, "shared")!();
    const { uid, gid } = statSync(path);
    expect({ uid, gid }).toEqual({ uid: OWNER, gid: OWNER });
    const open = ["/usr/bin/setpriv", `--reuid=${OWNER}`, "--clear-groups", "/bin/sh", "-c"];
    expect(Bun.spawnSync([...open, `: >> ${path}`]).exitCode).toBe(0);
  },
);
