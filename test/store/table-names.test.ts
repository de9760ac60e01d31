import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCatalog } from "../../src/catalog/open.ts";
import { FigureTables } from "../../src/figures/figure-tables.ts";
import { Ledger } from "../../src/pipeline/ledger/ledger.ts";
import { openStore } from "../../src/store/lmdb/lmdb-store.ts";
import { quiet } from "../log/support.ts";

const root = mkdtempSync(join(tmpdir(), "pixelmill-tables-"));
afterAll(() => rmSync(root, { recursive: true }));

const open = (name: string) => openStore({ path: join(root, name), name, logger: quiet });

// A table with another name is empty: a server that is upgraded would lose what it has stored.

test("the ledger has the tables of earlier versions", async () => {
  const store = open("ledger");
  const ledger = new Ledger(store, quiet);
  expect(store.tables()).toEqual([
    "lanes",
    "letter-counts",
    "letter-groups",
    "letter-responses",
    "letters",
    "letters-by-destination",
    "letters-by-group",
    "owners",
    "repetitions",
    "replay-jobs",
    "replay-jobs-running",
    "replays",
  ]);
  await ledger.close();
});

test("the figures have the tables of earlier versions", async () => {
  const store = open("figures");
  new FigureTables(store);
  expect(store.tables()).toEqual(["days", "hours", "minutes"]);
  await store.close();
});

test("the catalog has the tables of earlier versions", async () => {
  const directory = join(root, "catalog");
  const catalog = await openCatalog({ directory, logger: quiet });
  await catalog.close();
  const store = open("catalog/catalog.mdb");
  expect(store.tables()).toEqual([
    "alert-evaluator-lease",
    "alert-marks",
    "alert-receiver-states",
    "alert-receivers",
    "alert-receivers-order",
    "alert-rules",
    "alert-rules-order",
    "alerts",
    "alerts-open",
    "alerts-order",
    "alerts-pending",
    "audit-entries",
    "audit-entries-by-item",
    "audit-sizes",
    "connection-pairs",
    "connections",
    "connections-by-destination",
    "connections-by-mark",
    "connections-order",
    "credential-stamps",
    "credential-values",
    "credentials",
    "credentials-by-name",
    "credentials-order",
    "destinations",
    "destinations-by-mark",
    "destinations-order",
    "drafts-by-workspace",
    "epochs",
    "external-ids",
    "importers-by-import-name",
    "libraries-by-import-name",
    "links",
    "links-by-transformation",
    "members",
    "members-by-identity",
    "members-order",
    "pasts",
    "publications",
    "published-by-workspace",
    "removed-connections",
    "resources",
    "revision-counts",
    "revisions",
    "revisions-by-resource",
    "sessions",
    "sessions-by-provider",
    "sessions-by-token",
    "sources",
    "sources-by-mark",
    "sources-by-write-key",
    "sources-order",
    "test-cases",
    "token-uses",
    "tokens",
    "tokens-by-hash",
    "tokens-by-member",
    "tokens-order",
    "topology-changes",
    "upgrades",
    "workspaces",
  ]);
  await store.close();
});

test("a store opens that a newer version has given many more tables", async () => {
  const newer = open("newer");
  for (let n = 0; n < 150; n++) newer.table(`table-${n}`);
  await newer.change(() => newer.table("table-149").put("key", "value"));
  await newer.close();
  const older = open("newer");
  expect(older.table<string, string>("table-149").get("key")).toBe("value");
  older.table("own");
  await older.close();
});
