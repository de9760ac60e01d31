import { afterAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkMailServer } from "../../src/check/counterparts.ts";
import { checkDisk } from "../../src/check/disk.ts";
import { checkSettings } from "../../src/check/settings.ts";
import { prepareDataDirectory, topicIds } from "../../src/first-start/data-directory.ts";
import { environmentName } from "../../src/settings/keys.ts";
import { loadConfig } from "../../src/settings/reader.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";

const directory = temporaryDirectory();
afterAll(() => removeDirectory(directory));

const configOf = (settings: Record<string, string>) =>
  loadConfig(
    {},
    Object.fromEntries(Object.entries(settings).map(([key, it]) => [environmentName(key), it])),
  );

const noDatabase = join(directory, "none.mmdb");

const unusable: [settings: Record<string, string>, subject: string, detail: string][] = [
  [{ "oidc.client.id": "x" }, "single sign-on", "need oidc.issuer"],
  [{ "oidc.issuer": "https://id.test" }, "single sign-on", "needs oidc.client.id and admin.url"],
  [{ "smtp.from": "a@b.test" }, "mail server", "need smtp.server"],
  [{ "smtp.server": "mail.test:25" }, "mail server", "needs smtp.from"],
  [{ "backup.every": "3600" }, "backups", "backup.directory or backup.s3.bucket"],
  [
    { "backup.every": "3600", "backup.directory": "b", "backup.s3.bucket": "b" },
    "backups",
    "Expected one of",
  ],
  [{ "backup.every": "3600", "backup.s3.bucket": "b" }, "backups", "backup.s3.access.key"],
  [
    { "backup.every": "3600", "backup.directory": "b", "cluster.kafka": "a.test:1" },
    "backups",
    "Expected no backup.every on a node",
  ],
  [{ "geolocation.database": noDatabase }, "geolocation", "ENOENT"],
  [{ "rudderstack.definitions": directory }, "RudderStack's definitions", "Cannot read"],
];

for (const [settings, subject, detail] of unusable) {
  test(`settings with which no server starts are reported: ${JSON.stringify(settings)}`, async () => {
    const config = configOf(settings);
    expect([...checkSettings(config)]).toEqual([
      { state: "fails", subject, detail: expect.stringContaining(detail) },
    ]);
    // A mail server that cannot be used is not asked.
    expect(await Array.fromAsync(checkMailServer(config))).toEqual([]);
  });
}

test("settings with which a server starts are not reported", () => {
  expect([...checkSettings(configOf({}))]).toEqual([]);
  const backups = { "backup.every": "3600", "backup.directory": directory };
  expect([...checkSettings(configOf(backups))]).toEqual([]);
});

test("a data directory of another kind of server is reported", async () => {
  const node = { data: join(directory, "node"), "cluster.kafka": "a.test:1" };
  const standalone = { data: join(directory, "standalone") };
  prepareDataDirectory(configOf(node));
  topicIds(configOf(node)).put("pixelmill.catalog", "id");
  prepareDataDirectory(configOf(standalone));
  mkdirSync(join(standalone.data, "catalog"));
  writeFileSync(join(standalone.data, "catalog", "data.mdb"), "");
  const found = async (settings: Record<string, string>) => {
    const results = await Array.fromAsync(checkDisk(configOf(settings)));
    const { state, detail } = results.find(({ subject }) => subject === "data")!;
    return state === "fails" ? detail : state;
  };
  expect(await found(node)).toBe("ok");
  expect(await found(standalone)).toBe("ok");
  expect(await found({ data: node.data })).toContain("Expected the setting cluster.kafka");
  expect(await found({ ...node, "cluster.name": "x" })).toContain("Expected the cluster.name");
  expect(await found({ ...node, data: standalone.data })).toContain("cluster import");
});
