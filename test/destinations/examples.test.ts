import { expect, setDefaultTimeout, test } from "bun:test";
import { Glob } from "bun";
import { destinationKinds } from "../../src/destinations/destination-kinds.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { testWith } from "../counterpart.ts";
import { ClickhouseServer, clickhouseMissing } from "./clickhouse/clickhouse-server.ts";
import { outgoing } from "./outgoing.ts";
import { PostgresServer, postgresMissing } from "./postgres/postgres-server.ts";

setDefaultTimeout(300_000);

interface Example {
  type: string;
  config: Record<string, unknown>;
}

const pages = await Promise.all(
  [...new Glob("docs/destinations/*.md").scanSync(".")].map((path) => Bun.file(path).text()),
);
const examples = [...pages.join("\n").matchAll(/^```json\n(.*?)^```$/gms)]
  .map((match) => JSON.parse(match[1]!) as Partial<Example>)
  .filter((it): it is Example => it.type !== undefined && it.config !== undefined);
const egress = createEgress({ allow: ["127.0.0.0/8"] });
const kinds = destinationKinds({ directory: "unused", egress });

test.each(examples.map((example) => [example.type, example] as const))(
  "the example of type %s in docs/destinations has no faults",
  (type, { config }) => expect(kinds.get(type)!.validate(config)).toEqual([]),
);

const track = outgoing({ type: "track", event: "Order Completed", messageId: "m", total: 1 });

/** Delivers with the settings of the example, but for the address and the account. */
async function deliver(type: string, account: Record<string, unknown>) {
  const { config } = examples.find((example) => example.type === type)!;
  const open = kinds.get(type)!.open({ ...config, ...account }, "workspace");
  const verdict = await open.deliver([track], new AbortController().signal);
  await open.close();
  return verdict;
}

testWith(postgresMissing)("the example of PostgreSQL takes events", async () => {
  const server = await PostgresServer.start();
  try {
    expect(await deliver("postgres", { ...server.account, tls: "off" })).toEqual({
      kind: "delivered",
    });
    expect(await server.ask("select id from web.order_completed")).toBe("m");
  } finally {
    await server.end();
  }
});

testWith(clickhouseMissing)("the example of ClickHouse takes events", async () => {
  const server = await ClickhouseServer.start();
  try {
    expect(await deliver("clickhouse", server.account)).toEqual({ kind: "delivered" });
    expect(await server.ask("select message_id from web.events")).toBe("m");
  } finally {
    await server.end();
  }
});
