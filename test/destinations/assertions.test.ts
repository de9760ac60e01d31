import { expect, test } from "bun:test";
import { PostgresSession } from "../../src/destinations/postgres/postgres-session.ts";
import { ScramDerivations } from "../../src/destinations/scram-keys.ts";
import type { TableDatabase } from "../../src/destinations/tables/table-database.ts";
import { TableLoader } from "../../src/destinations/tables/table-loader.ts";
import { WarehouseNames } from "../../src/destinations/tables/warehouse-names.ts";
import { webhookKind } from "../../src/destinations/webhook/webhook.ts";
import { createAddressRules } from "../../src/egress/address-rules.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { openSocket } from "../../src/egress/socket.ts";
import { RawSink } from "../egress/sink.ts";
import { outgoing } from "./outgoing.ts";

const { signal } = new AbortController();

test("a webhook without batches that gets two events shows the broken invariant", async () => {
  const egress = createEgress({ allow: [] });
  const open = webhookKind(egress).open({ webhookUrl: "https://example.com/" }, "workspace");
  expect(await open.deliver([outgoing({}), outgoing({})], signal)).toEqual({
    kind: "retry",
    reason: "Broken invariant: A webhook without batches delivers one event per request",
  });
  egress.close();
});

test("a database session refuses a second query before the first response", async () => {
  const accepted = Buffer.from([82, 0, 0, 0, 8, 0, 0, 0, 0, 90, 0, 0, 0, 5, 73]);
  const sink = new RawSink((socket) => socket.write(accepted));
  const port = await sink.listen();
  const rules = createAddressRules(["127.0.0.0/8"]);
  const socket = openSocket({ address: "127.0.0.1", port, rules }, undefined, () => {});
  const scramKeys = new ScramDerivations().keysOf("workspace");
  const account = { user: "u", password: "p", database: "d", scramKeys };
  const session = await PostgresSession.open(socket, account, false);
  const first = session.run(Buffer.from("Q"));
  await expect(session.run(Buffer.from("Q"))).rejects.toThrow("one query at a time");
  session.destroy(new Error("The test has ended"));
  await expect(first).rejects.toThrow("The test has ended");
  sink.close();
});

test("an event that gets neither a row nor a refusal fails its batch", async () => {
  const names = new WarehouseNames({ charsMax: 63, escapesWords: true });
  const loader = new TableLoader(
    { mode: "raw", eventTables: false, rawTable: "events" },
    names,
    {} as TableDatabase,
  );
  const events = [outgoing({ messageId: "a" })];
  // A batch that changes while it is written.
  Object.defineProperty(events, "length", { value: 2 });
  const load = loader.load(events);
  await expect(load).rejects.toThrow("Every event of a batch has a row or is refused");
});
