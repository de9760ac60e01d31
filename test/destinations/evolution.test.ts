import { expect, setDefaultTimeout, test } from "bun:test";
import * as fc from "fast-check";
import { clickhouseKind } from "../../src/destinations/clickhouse/clickhouse.ts";
import type { DestinationKind } from "../../src/destinations/destination.ts";
import { postgresKind } from "../../src/destinations/postgres/postgres.ts";
import { cleanText, typeOf } from "../../src/destinations/tables/column-values.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { runs } from "../tier.ts";
import { withDatabases } from "./databases.ts";
import { outgoing } from "./outgoing.ts";

setDefaultTimeout(300_000);

/** `EVOLUTION_RUNS=500 bun test test/destinations/evolution.test.ts` tries more. */
const numRuns = Number(process.env.EVOLUTION_RUNS ?? runs(6, 30));

const databases = withDatabases();
const egress = createEgress({ allow: ["127.0.0.0/8"] });

interface Target {
  kind: DestinationKind;
  config: Record<string, unknown>;
  rows(table: string): Promise<Record<string, unknown>[]>;
}

const targets: Record<string, (name: string) => Target | undefined> = {
  PostgreSQL: (schema) =>
    databases.postgres && {
      kind: postgresKind(egress),
      config: { ...databases.postgres.account, tls: "off", schema },
      rows: (table) => databases.postgres!.rows(`select * from "${schema}"."${table}"`),
    },
  ClickHouse: (database) =>
    databases.clickhouse && {
      kind: clickhouseKind(egress),
      config: { ...databases.clickhouse.account, database },
      rows: (table) => databases.clickhouse!.rows(`select * from ${database}.${table} final`),
    },
};

const odd = fc.constantFrom(
  ...[
    "",
    "\0",
    "a\0b",
    "\ud800",
    "🙂",
    "'",
    '"',
    "\\",
    "`",
    "2026-01-01",
    "2026-02-30",
    "0001-01-01",
  ],
  ...["9999-12-31T23:59:59.999Z", "2026-01-01T00:00:00+14:00", "NaN", "true", "1", "null", "1e5"],
  ...[0, -0, 1, -1, 1.5, 2 ** 31, 2 ** 53, 2 ** 63, -(2 ** 63), 2 ** 64, 1e21, 1e300, 5e-324],
);
const value = fc.oneof(
  { weight: 3, arbitrary: odd },
  ...[fc.string({ unit: "binary", maxLength: 20 }), fc.integer(), fc.boolean(), fc.constant(null)],
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.array(odd, { maxLength: 3 }),
  fc.dictionary(fc.string({ maxLength: 4 }), odd, { maxKeys: 3 }),
);
const key = fc.oneof(
  fc.constantFrom(
    "a",
    "A",
    "b",
    "c",
    "d",
    "select",
    "user",
    "id",
    "user_id",
    "received_at",
    "event",
  ),
  fc.constantFrom(
    "a_b",
    "a b",
    "x__text",
    "rest__json",
    "__proto__",
    "x".repeat(200),
    "größe",
    "日",
  ),
  fc.constantFrom("xmin", "ctid", "tableoid", "_part", "_part_offset", "_row_exists", "_table"),
  fc.string({ maxLength: 10 }),
);
const event = fc.record({
  type: fc.constantFrom("track", "page", "identify"),
  event: fc.oneof(fc.constantFrom("A", "a", "Tracks", "select", "x".repeat(90)), fc.string()),
  properties: fc.dictionary(key, value, { maxKeys: 8 }),
  traits: fc.dictionary(key, value, { maxKeys: 2 }),
  context: fc.dictionary(key, value, { maxKeys: 3 }),
  userId: fc.constantFrom("", "u1", "u2"),
});
const batches = fc.array(fc.array(event, { minLength: 1, maxLength: 6 }), {
  minLength: 1,
  maxLength: 4,
});

const tables: Record<string, string> = { track: "tracks", page: "pages", identify: "identifies" };

/** Everything that a row says, in columns and in the rest. */
function said(row: Record<string, unknown>): Set<unknown> {
  const rest = JSON.parse((row.rest__json as string | null) ?? "{}");
  return new Set([...Object.values(row), ...Object.values(rest)]);
}

test.each(Object.keys(targets))(
  "%s accepts any events without a blocked one, and stores each by its id with its texts",
  async (name) => {
    let runs = 0;
    if (targets[name]!("x") === undefined) return;
    await fc.assert(
      fc.asyncProperty(batches, async (given) => {
        runs += 1;
        const { kind, config, rows } = targets[name]!(`e${runs}`)!;
        const open = kind.open(config, "workspace");
        const sent = given.map((batch, b) =>
          batch.map((one, n) => ({ ...one, messageId: `m${b}-${n}` })),
        );
        for (const batch of sent) {
          const events = batch.map((one) => outgoing(one));
          const verdict = await open.deliver(events, new AbortController().signal);
          expect(verdict).toEqual({ kind: "delivered" });
        }
        await open.close();
        const all = sent.flat();
        for (const table of new Set(all.map(({ type }) => tables[type]!))) {
          const own = all.filter(({ type }) => tables[type] === table);
          const found = new Map((await rows(table)).map((row) => [row.id, said(row)]));
          expect([...found.keys()].sort()).toEqual(own.map(({ messageId }) => messageId).sort());
          for (const { messageId, type, properties, traits } of own) {
            for (const text of Object.values(type === "identify" ? traits : properties)) {
              if (typeof text !== "string" || text === "" || typeOf(text) === "datetime") continue;
              const there = found.get(messageId)!;
              expect(there.has(cleanText(text)) || there.has(text)).toBe(true);
            }
          }
        }
      }),
      { numRuns },
    );
  },
);
