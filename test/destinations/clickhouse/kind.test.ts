import { expect, test } from "bun:test";
import { clickhouseKind } from "../../../src/destinations/clickhouse/clickhouse.ts";
import type { ClickhouseConfig } from "../../../src/destinations/clickhouse/config.ts";
import type { Egress, EgressRequest } from "../../../src/egress/egress.ts";
import { outgoing } from "../outgoing.ts";

const { signal } = new AbortController();
const answer = (body: string, status = 200) => ({ status, headers: {}, body: Buffer.from(body) });
const one = answer("1\n");
const ok = answer("");
const failed = (code: number) => answer(`Code: ${code}. DB::Exception: No.`, 500);
const config = { url: "https://ch.test:8443/" } as ClickhouseConfig;

/** A kind whose statements get these answers in turn. */
function setup(answers: (ReturnType<typeof answer> | Error)[] = []) {
  const statements: string[] = [];
  const egress = {
    async request({ body, onStage }: EgressRequest) {
      statements.push(Buffer.from(body).toString());
      for (const stage of ["resolve", "connect", "tls"] as const) onStage?.(stage);
      const next = answers.shift() ?? ok;
      if (next instanceof Error) throw next;
      return next;
    },
  } as unknown as Egress;
  return { kind: clickhouseKind(egress), statements };
}

test("a connection test writes to a table of its own, and drops it", async () => {
  const { kind, statements } = setup([one]);
  const steps = await kind.test(config, "w", signal);
  expect(steps.map(({ step, ok }) => `${step} ${ok}`)).toEqual(
    ["resolve", "connect", "tls", "sign-in", "write", "clean-up"].map((step) => `${step} true`),
  );
  const [, created, inserted, dropped] = statements;
  const table = /^drop table (`default`\.`pixelmill_connection_test_[0-9a-f]{32}`)$/.exec(
    dropped!,
  )!;
  expect(created).toStartWith(`create table if not exists ${table[1]} `);
  expect(inserted).toStartWith(`insert into ${table[1]} `);
  expect(statements).toHaveLength(4);
});

test.each([
  ["sign-in", [failed(516)], "516"],
  ["sign-in", [answer("0")], undefined],
  ["sign-in", [new Error("It broke")], undefined],
  ["write", [one, failed(497)], "497"],
  ["write", [one, ok, failed(241)], "241"],
  ["clean-up", [one, ok, ok, failed(497)], "497"],
  ["clean-up", [one, ok, ok, new Error("It broke")], undefined],
] as const)(
  "a connection test ends at the step that fails, with its answer: %s, %#",
  async (...given) => {
    const [step, answers, code] = given;
    const { kind, statements } = setup([...answers]);
    const steps = await kind.test(config, "w", signal);
    const order = ["resolve", "connect", "tls", "sign-in", "write", "clean-up"];
    expect(steps.map((it) => it.step)).toEqual(order.slice(0, order.indexOf(step) + 1) as never);
    expect(steps.filter(({ ok }) => !ok)).toHaveLength(1);
    const last = steps.at(-1)!;
    expect([last.step, last.ok, last.answer?.code]).toEqual([step, false, code]);
    expect(statements).toHaveLength(answers.length);
  },
);

test("a server that answers with another number is no ClickHouse, and is shown with its answer", async () => {
  const { kind } = setup([answer("<html>")]);
  const last = (await kind.test(config, "w", signal)).at(-1)!;
  expect(last.message).toBe("The server does not answer as ClickHouse does");
  expect([last.answer?.status, String(last.answer?.body)]).toEqual([200, "<html>"]);
});

test("a kind tells its address, its batches, and who receives its password", () => {
  const { kind } = setup();
  const endpointOf = (more: object) => kind.endpoint!({ ...config, ...more });
  expect(endpointOf({})).toBe("https://ch.test:8443, default");
  expect(endpointOf({ url: "https://ch.test/?password=p", database: "d" })).toBe(
    "https://ch.test/?password=***, d",
  );
  expect(endpointOf({ url: undefined })).toBeUndefined();
  expect([kind.batchSize(config), kind.batchSize({ ...config, batchSize: 7 })]).toEqual([1_000, 7]);
  expect(kind.concurrency).toBe(1);
  expect(kind.maskedKeys!.map(({ path, shown }) => [path, shown(config)])).toEqual([
    ["url", "https://ch.test:8443/"],
  ]);
  const [password] = kind.secretKeys;
  expect(password!.path).toBe("password");
  const [server] = password!.audiences(config);
  expect(server).toMatchObject({ host: "ch.test:8443", isTls: true });
  for (const more of [{ tlsCa: "ca" }, { tlsServerName: "other" }]) {
    expect(password!.audiences({ ...config, ...more })).not.toEqual([server!]);
  }
});

test.each([
  [{}, []],
  [{ url: "" }, ["/url"]],
  [{ url: "ch.test" }, ["/url"]],
  [{ url: "ftp://ch.test" }, ["/url"]],
  [{ url: "ftp://ch.test", database: "a b" }, ["/url", "/database"]],
  [{ user: "a b" }, ["/user"]],
  [{ password: "p\n" }, ["/password"]],
  [{ rawTable: "t" }, ["/rawTable"]],
  [{ mode: "raw", rawTable: "t" }, []],
])("a config with %j has its faults", (more, paths) => {
  const { kind } = setup();
  expect(kind.validate({ ...config, ...more }).map(({ path }) => path)).toEqual(paths);
});

test("a delivery is written to the tables of its events", async () => {
  const { kind, statements } = setup();
  const open = kind.open({ ...config, mode: "raw", database: "d" }, "w");
  await open.deliver([outgoing({ type: "track", messageId: "m" })], signal);
  await open.close();
  expect(statements[0]).toContain("where database = 'd' and name = 'events'");
  expect(statements[1]).toStartWith("create table if not exists `d`.`events` ");
});
