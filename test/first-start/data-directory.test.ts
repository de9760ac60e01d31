import { expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { topicIds } from "../../src/first-start/data-directory.ts";
import { loadConfig } from "../../src/settings/reader.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";

const NOBODY = 65_534;
const root = join(import.meta.dir, "../..");

test("the ids of a node's topics are kept, and refused to a cluster of another name", () => {
  const data = temporaryDirectory();
  const configOf = (name: string) =>
    loadConfig({}, { PIXELMILL_DATA: data, PIXELMILL_CLUSTER_NAME: name });
  const ids = topicIds(configOf("one-name"));
  expect(ids.get("one-name.catalog")).toBeUndefined();
  ids.put("one-name.catalog", "first");
  ids.put("one-name.ledgers", "other");
  ids.put("one-name.catalog", "second");
  const again = topicIds(configOf("one-name"));
  expect(again.get("one-name.catalog")).toBe("second");
  expect(again.get("one-name.ledgers")).toBe("other");
  expect(() => topicIds(configOf("one"))).toThrow(
    `Expected the cluster.name one-name, which the data directory ${data} belongs to, got one`,
  );
  removeDirectory(data);
});

test("a directory with an event log of another user is refused, with the path and what to do", () => {
  const data = temporaryDirectory();
  // The file system's own directory is no obstacle.
  mkdirSync(join(data, "lost+found"), { mode: 0 });
  const asNobody = process.getuid?.() === 0;
  const user = asNobody ? NOBODY : process.getuid!();
  mkdirSync(join(data, "events/0"), { recursive: true });
  const log = join(data, "events/0/0000000000000000.segment");
  writeFileSync(log, "", { mode: 0 });
  for (const path of ["", "events", "events/0"]) {
    chmodSync(join(data, path), 0o700);
    if (asNobody) chownSync(join(data, path), user, user);
  }
  const code = `
    import { prepareDataDirectory } from "./src/first-start/data-directory.ts";
    try { prepareDataDirectory({ data: ${JSON.stringify(data)} }); }
    catch (error) { console.log(error.message); }`;
  const { stdout } = Bun.spawnSync(
    [
      ...(asNobody ? ["setpriv", `--reuid=${user}`, "--clear-groups"] : []),
      ...[process.execPath, "-e", code],
    ],
    { cwd: root },
  );
  expect(String(stdout).trim()).toBe(
    `Cannot use the data directory ${data}: EACCES: permission denied, access '${log}'; make it this user's own: chown -R ${user}`,
  );
  removeDirectory(data);
});
