import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import {
  acquireDataLock,
  expectDataDirectory,
  expectFittingDirectory,
  expectStandaloneData,
  formatFile,
  holdFile,
  isDataLocked,
  prepareDataDirectory,
  topicIds,
  unprintedToken,
  watchHold,
} from "../../src/first-start/data-directory.ts";
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

test("deliveries are on hold until the file found at the start is removed, and not again", () => {
  const data = temporaryDirectory();
  const config = loadConfig({ data }, {});
  mkdirSync(dirname(holdFile(config)), { recursive: true });
  const withoutFile = watchHold(config);
  writeFileSync(holdFile(config), "");
  expect(withoutFile()).toBe(false);
  const isOnHold = watchHold(config);
  expect(isOnHold()).toBe(true);
  unlinkSync(holdFile(config));
  expect(isOnHold()).toBe(false);
  writeFileSync(holdFile(config), "");
  expect(isOnHold()).toBe(false);
  removeDirectory(data);
});

test("a directory with a store of another user is refused, with the path and what to do", () => {
  const asNobody = process.getuid?.() === 0;
  const user = asNobody ? NOBODY : process.getuid!();
  const stores = [
    ...["events/0/0000000000000000.segment", "catalog/catalog.mdb", "delivery"],
    ...["figures/figures.mdb", "cluster/topics"],
  ];
  const cases = stores.map((store) => {
    const data = temporaryDirectory();
    // The file system's own directory is no obstacle.
    mkdirSync(join(data, "lost+found"), { mode: 0 });
    mkdirSync(dirname(join(data, store)), { recursive: true });
    writeFileSync(join(data, store), "", { mode: 0 });
    for (let name = dirname(store); ; name = dirname(name)) {
      chmodSync(join(data, name), 0o700);
      if (asNobody) chownSync(join(data, name), user, user);
      if (name === ".") return { data, file: join(data, store) };
    }
  });
  const code = `
    import { prepareDataDirectory } from "./src/first-start/data-directory.ts";
    for (const data of ${JSON.stringify(cases.map(({ data }) => data))}) {
      try { prepareDataDirectory({ data }); }
      catch (error) { console.log(error.message); }
    }`;
  const { stdout } = Bun.spawnSync(
    [
      ...(asNobody ? ["setpriv", `--reuid=${user}`, "--clear-groups"] : []),
      ...[process.execPath, "-e", code],
    ],
    { cwd: root },
  );
  const refusals = cases.map(({ data, file }) => {
    const reason = `EACCES: permission denied, access '${file}'`;
    return `Cannot use the data directory ${data}: ${reason}; make it this user's own: chown -R ${user}`;
  });
  expect(String(stdout).trim().split("\n")).toEqual(refusals);
  for (const { data } of cases) removeDirectory(data);
});

describe("a data directory", () => {
  let data: string;
  beforeEach(() => {
    data = temporaryDirectory();
  });
  afterEach(() => removeDirectory(data));
  const configOf = (kafka = "") =>
    loadConfig({}, { PIXELMILL_DATA: data, PIXELMILL_CLUSTER_KAFKA: kafka });
  const make = (name: string) => mkdirSync(join(data, name));

  test("has the version of its format, and is refused in another", () => {
    const config = configOf();
    // A first start that was interrupted leaves an empty file.
    writeFileSync(formatFile(config), "");
    prepareDataDirectory(config);
    expect(readFileSync(formatFile(config), "utf8")).toBe("1\n");
    prepareDataDirectory(config);
    writeFileSync(formatFile(config), "2\n");
    expect(() => prepareDataDirectory(config)).toThrow(
      `Expected data of format 1 in ${data}, got format 2: another version of pixelmill wrote it`,
    );
    expect(readFileSync(formatFile(config), "utf8")).toBe("2\n");
  });

  test("is not a file, nor a directory without a format where one is expected", () => {
    expect(() => expectDataDirectory(configOf())).toThrow(
      `Expected a data directory of pixelmill, got ${data}`,
    );
    expect(() => readFileSync(formatFile(configOf()))).toThrow("ENOENT");
    // A file that cannot be looked at may be there.
    symlinkSync("format", formatFile(configOf()));
    expect(() => expectDataDirectory(configOf())).toThrow(
      `Cannot use the data directory ${data}: ELOOP`,
    );
    removeDirectory(data);
    writeFileSync(data, "");
    expect(() => expectDataDirectory(configOf())).toThrow(
      `Expected a data directory of pixelmill, got ${data}`,
    );
    expect(() => prepareDataDirectory(configOf())).toThrow(
      new RegExp(`^Cannot use the data directory ${data}: expected a directory, got a file$`),
    );
  });

  test("that is new fits any server, and one that is used fits servers of its kind alone", () => {
    const node = configOf("127.0.0.1:9092");
    for (const config of [configOf(), node]) expectFittingDirectory(config);
    make("cluster");
    expectFittingDirectory(node);
    expect(() => expectFittingDirectory(configOf())).toThrow(
      `Expected the setting cluster.kafka, since ${data} is the data directory of a node`,
    );
    make("catalog");
    expect(() => expectFittingDirectory(configOf())).toThrow(`Expected complete data in ${data}`);
    expect(() => expectFittingDirectory(node)).toThrow(
      `Expected the data directory of a node, but ${data} is that of a server without cluster.kafka`,
    );
  });

  test("of a node is refused to commands on the data of a standalone server", () => {
    const refusal = `${data} is the data directory of a node: this command does not work on a cluster`;
    expectStandaloneData(configOf());
    expect(() => expectStandaloneData(configOf("127.0.0.1:9092"))).toThrow(refusal);
    make("cluster");
    expect(() => expectStandaloneData(configOf())).toThrow(refusal);
    make("catalog");
    expectStandaloneData(configOf());
  });

  test("is locked by one server at a time", async () => {
    const config = configOf();
    expect(isDataLocked(config)).toBe(false);
    const unlock = await acquireDataLock(config);
    expect(isDataLocked(config)).toBe(true);
    const waiting = acquireDataLock(config);
    unlock();
    const unlockNext = await waiting;
    expect(isDataLocked(config)).toBe(true);
    unlockNext();
    expect(isDataLocked(config)).toBe(false);
  });

  test("remembers that a token was not printed", () => {
    const mark = unprintedToken(configOf());
    expect(mark.get()).toBe(false);
    for (const is of [true, true, false, false]) {
      mark.set(is);
      expect(unprintedToken(configOf()).get()).toBe(is);
    }
  });
});
