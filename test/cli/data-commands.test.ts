import { afterEach, beforeEach, describe, expect, mock, spyOn, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as archives from "../../src/backup/archive-source.ts";
import * as backups from "../../src/backup/back-up-to.ts";
import * as migrations from "../../src/backup/migration.ts";
import * as restores from "../../src/backup/restore.ts";
import { permissions } from "../../src/catalog/model.ts";
import { openCatalog } from "../../src/catalog/open.ts";
import {
  catalogDirectory,
  clusterDirectory,
  deliveryDirectory,
  prepareDataDirectory,
} from "../../src/first-start/data-directory.ts";
import { readSettings } from "../../src/settings/reader.ts";
import * as compaction from "../../src/store/lmdb/compact.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";
import { quiet } from "../log/support.ts";
import { start } from "./in-process.ts";

/** Commands that work on a data directory, without a server. */

let data: string;
let config: ReturnType<typeof readSettings>["config"];
beforeEach(() => {
  data = temporaryDirectory();
  config = readSettings({ data }, {}).config;
});
afterEach(() => {
  mock.restore();
  removeDirectory(data);
});

async function run(...args: string[]) {
  const { ended, output, errors } = start([...args, "--data", data]);
  return { code: await ended, output: output.text, errors: errors.text };
}

const printed = (output: string) => ({ code: 0, output, errors: "" });
const contents = { workspaces: 2, records: 1_234, deadLetters: 5, warnings: ["One is damaged"] };
const words = "workspaces: 2, events in the log: 1234, dead letters: 5";

test("a command for existing data makes no data directory, and changes none of a node", async () => {
  const copy = spyOn(backups, "backUpTo");
  const compact = spyOn(compaction, "compactStore");
  const free = spyOn(restores, "release");
  const commands = [["backup", "x"], ["compact"], ["workspace", "list"], ["token", "create"]];
  for (const command of [...commands, ["release"]]) {
    const { code, errors } = await run(...command);
    expect([code, errors]).toEqual([
      ...[1, `pixelmill: Expected a data directory of pixelmill, got ${data}\n`],
    ]);
  }
  prepareDataDirectory(config);
  mkdirSync(clusterDirectory(config, ""), { recursive: true });
  for (const command of [...commands, ["workspace", "create", "Shop"]]) {
    const { code, errors } = await run(...command);
    expect(code).toBe(1);
    expect(errors).toContain("Expected the data of a server without cluster.kafka");
  }
  const asked = [copy, compact, free].map(({ mock }) => mock.calls.length);
  expect(asked).toEqual([0, 0, 0]);
});

describe("a backup", () => {
  test("is described with its size, its contents and warnings", async () => {
    prepareDataDirectory(config);
    const made = { bytes: 12_345, ...contents };
    const copy = spyOn(backups, "backUpTo").mockResolvedValue(made as never);
    expect(await run("backup", "x.tar.zst")).toEqual(
      printed(`backup x.tar.zst: 12,345 bytes, ${words}\nwarning: One is damaged\n`),
    );
    expect(copy.mock.calls).toMatchObject([[{ data }, "x.tar.zst"]]);
  });

  test("is restored, on hold if that is asked for, and closed in any case", async () => {
    let closed = 0;
    const archive = {
      name: join(data, "x"),
      close() {
        closed += 1;
      },
    };
    const open = spyOn(archives, "archiveSource").mockResolvedValue(archive as never);
    const restore = spyOn(restores, "restore").mockResolvedValue(contents as never);
    const warning = "\nwarning: One is damaged\n";
    expect(await run("restore", "x")).toEqual(printed(`restored ${data}: ${words}${warning}`));
    archive.name = "s3://bucket/newest";
    const held = `${words}; deliveries are held until pixelmill release`;
    expect(await run("restore", "s3://bucket/", "--hold")).toEqual(
      printed(`restored ${data} from s3://bucket/newest: ${held}${warning}`),
    );
    expect(open.mock.calls.map(([, name]) => name)).toEqual(["x", "s3://bucket/"]);
    expect(restore.mock.calls.map((given) => given[2])).toEqual([false, true]);
    expect(closed).toBe(2);
    restore.mockRejectedValue(new Error("a defect"));
    await expect(run("restore", "x")).rejects.toThrow("a defect");
    expect(closed).toBe(3);
  });

  test("that was restored on hold is released once", async () => {
    prepareDataDirectory(config);
    const release = spyOn(restores, "release").mockReturnValueOnce(true).mockReturnValue(false);
    expect(await run("release")).toEqual(printed(`deliveries of ${data} are released\n`));
    expect(await run("release")).toEqual(printed("nothing was held\n"));
    expect(release.mock.calls).toMatchObject([[{ data }], [{ data }]]);
  });
});

test("compact tells the size of each store that there is, before and after", async () => {
  prepareDataDirectory(config);
  const compact = spyOn(compaction, "compactStore").mockImplementation(async () => ({
    ...{ before: 5 << 20, after: 1_572_864 },
  }));
  expect(await run("compact")).toEqual(printed(""));
  const catalog = join(catalogDirectory(config), "catalog.mdb");
  mkdirSync(dirname(catalog));
  writeFileSync(catalog, "");
  expect(await run("compact")).toEqual(printed("catalog: 5.0 MiB, now 1.5 MiB\n"));
  mkdirSync(deliveryDirectory(config));
  const { output } = await run("compact");
  expect(output.split("\n")[1]).toBe("delivery: 5.0 MiB, now 1.5 MiB");
  const paths = compact.mock.calls.map(([path]) => path);
  expect(paths).toEqual([catalog, catalog, deliveryDirectory(config)]);
});

test.each([
  ["import", "imported"],
  ["export", "exported"],
] as const)("cluster %s tells what it took along", async (name, done) => {
  const moved = { workspaces: 2, events: 3, deadLetters: 4 };
  const others = { import: "exportStandalone", export: "importStandalone" } as const;
  const own = { import: "importStandalone", export: "exportStandalone" } as const;
  const other = spyOn(migrations, others[name]);
  const migrate = spyOn(migrations, own[name]).mockResolvedValue(moved as never);
  expect(await run("cluster", name)).toEqual(
    printed(`${done} workspaces: 2, undelivered events: 3, dead letters: 4\n`),
  );
  expect(migrate.mock.calls).toMatchObject([[{ data }, expect.anything()]]);
  expect(other.mock.calls).toEqual([]);
});

test("a command prints each root cause of a broker failure once, and the message of a system failure", async () => {
  const failed = (message: string, more = {}) => Object.assign(new Error(message), more);
  const migrate = spyOn(migrations, "importStandalone");
  const told = async (error: unknown) => {
    migrate.mockRejectedValue(error);
    const { code, errors } = await run("cluster", "import");
    return [code, errors];
  };
  const errors = [
    failed("connection refused"),
    failed("lookup failed", { cause: failed("no such host") }),
    failed("connection refused"),
  ];
  expect(await told(failed("All failed", { code: "PLT_KFK_MULTIPLE", errors }))).toEqual([
    ...[
      1,
      "pixelmill: Cannot use the brokers of cluster.kafka: connection refused; no such host\n",
    ],
  ]);
  const alone = failed("no answer in time", { code: "PLT_KFK_TIMEOUT" });
  expect(await told(alone)).toEqual([
    ...[1, "pixelmill: Cannot use the brokers of cluster.kafka: no answer in time\n"],
  ]);
  const denied = failed("EACCES: permission denied", { code: "EACCES", syscall: "open" });
  expect(await told(denied)).toEqual([1, "pixelmill: EACCES: permission denied\n"]);
  // Other errors are defects, which end with their stack.
  for (const defect of [failed("a defect"), failed("a defect", { code: "EACCES" })]) {
    await expect(told(defect)).rejects.toThrow("a defect");
  }
});

test("workspaces and tokens are made on the disk, and one is listed on each line", async () => {
  const made = await run("workspace", "create", "First\nshop");
  const [, first, admin] =
    /^workspace (\w{27})\nadmin token (pm_\w+)\n$/.exec(made.output) ?? expect.unreachable();
  const [, second] = /^workspace (\w+)/.exec((await run("workspace", "create", "Next")).output)!;
  expect(await run("workspace", "list")).toEqual(printed(`${first} First shop\n${second} Next\n`));
  const tokenOf = async (...flags: string[]) =>
    /^token (pm_\w+)\n$/.exec((await run("token", "create", ...flags)).output)![1]!;
  const all = await tokenOf();
  const chosen = ["--permissions", "events:read, audit:read", "--workspace", second!];
  const some = await tokenOf("--name", "reader", ...chosen);
  const { code, errors } = await run("token", "create", "--workspace", "none");
  expect([code, errors]).toEqual([
    1,
    `pixelmill: Expected the id of a workspace of ${data}; pixelmill workspace list prints them\n`,
  ]);
  const catalog = await openCatalog({ directory: catalogDirectory(config), logger: quiet });
  const granted = [admin!, all, some].map((secret) => {
    const { workspaceId, permissions } = catalog.tokens.authenticate(secret)!;
    return [workspaceId, [...permissions].toSorted()];
  });
  const names = [first, second].map((id) => {
    return catalog.tokens.list(id!, 1).items.map(({ name }) => name);
  });
  await catalog.close();
  expect(granted).toEqual([
    [first!, [...permissions].toSorted()],
    [first!, [...permissions].toSorted()],
    [second!, ["audit:read", "events:read"]],
  ]);
  expect(names.map((each) => each.toSorted())).toEqual([
    ["admin", "cli"],
    ["admin", "reader"],
  ]);
});
