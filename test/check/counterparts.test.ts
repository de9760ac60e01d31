import { afterEach, expect, mock, spyOn, test } from "bun:test";
import * as email from "../../src/alerts/receivers/email.ts";
import type { CheckResult } from "../../src/check/check-result.ts";
import { checkBrokers, checkMailServer, checkUserCode } from "../../src/check/counterparts.ts";
import * as kafka from "../../src/kafka/client.ts";
import * as guestSandbox from "../../src/sandbox/guest-sandbox.ts";
import { selfCommand } from "../../src/self-command.ts";
import type { Config } from "../../src/settings/keys.ts";
import { loadConfig } from "../../src/settings/reader.ts";

/** Results of the checks of brokers, a mail server and guests. Test doubles stand for all three. */

afterEach(() => void mock.restore());

const brokers = ["a.test:1", "b.test:2"];
const plain = { "cluster.tls": false, "cluster.sasl": "none", "cluster.kafka": brokers };
const foreign = [{ address: "b.test:2", clusterId: "B" }];

interface Answer {
  metadata: () => Promise<unknown>;
  foreign?: typeof foreign;
}

async function found(answer: Answer, config: object = {}): Promise<CheckResult> {
  let isClosed = false;
  const clients = {
    view: { isEmpty: false, clusterId: "A" },
    lastProbes: () => [],
    foreignBrokers: () => answer.foreign ?? [],
    admin: () => ({ metadata: answer.metadata }),
    async close() {
      isClosed = true;
    },
  };
  const connect = spyOn(kafka, "connectClients").mockResolvedValue(clients as never);
  const result = await checkBrokers({ ...plain, "cluster.replicas": 3, ...config } as Config);
  const asked = connect.mock.calls.splice(0).map(([settings]) => settings);
  expect(asked).toEqual(asked.length === 0 ? [] : [{ brokers }]);
  expect(isClosed).toBe(asked.length > 0);
  return result;
}

const listing = (count: number) => async () => ({
  brokers: new Map(Array.from({ length: count }, (_, id) => [id, {}])),
});

test("as many brokers as replicas are enough, and one less is too few", async () => {
  const subject = "brokers";
  expect(await found({ metadata: listing(3) })).toEqual({
    state: "ok",
    subject,
    detail: "3 answer",
  });
  const detail = "2 answer, fewer than cluster.replicas (3)";
  expect(await found({ metadata: listing(2) })).toEqual({ state: "fails", subject, detail });
});

const fails = (detail: string) => ({ state: "fails" as const, subject: "brokers", detail });

test("brokers that do not answer are named, after a bound that outlasts a refused password", async () => {
  const sleep = spyOn(Bun, "sleep").mockResolvedValue();
  const metadata = () => new Promise<never>(() => {});
  const late = fails("a.test:1, b.test:2 did not answer within 30 s");
  expect(await found({ metadata })).toEqual(late);
  expect(sleep.mock.calls).toEqual([[30_000]]);
});

test("a failed check of brokers names all addresses, unless the error names its broker", async () => {
  const metadata = () => Promise.reject(new Error("The topic is unknown"));
  const unknown = fails("a.test:1, b.test:2: The topic is unknown");
  expect(await found({ metadata })).toEqual(unknown);
  const { detail } = await found({ metadata: listing(3), foreign });
  expect(detail).toStartWith(
    "Expected the brokers of cluster.kafka to belong to one Kafka cluster",
  );
});

test("wrong settings of the cluster fail the check without a request to a broker", async () => {
  const result = await found({ metadata: listing(3) }, { "cluster.user": "me" });
  expect(result).toEqual(fails("Settings cluster.user and cluster.password need cluster.sasl"));
});

test("the check names a mail server that answers, and warns of one that does not with the reason", async () => {
  const flags = { "smtp-server": "mail.test:587", "smtp-from": "me@a.test" };
  const found = (more: Record<string, string> = flags) =>
    Array.fromAsync(checkMailServer(loadConfig(more, {})));
  const verify = spyOn(email, "verifyMailServer").mockResolvedValue(undefined);
  const subject = "mail server";
  expect(await found()).toEqual([{ state: "ok", subject, detail: "mail.test:587 answers" }]);
  const [, server] = verify.mock.lastCall!;
  expect(server).toMatchObject({ host: "mail.test", port: 587, from: "me@a.test" });
  verify.mockResolvedValue("The mail server refused the user");
  const fault = "mail.test:587: The mail server refused the user; alerts reach no email address";
  expect(await found()).toEqual([{ state: "warns", subject, detail: fault }]);
  expect(await found({})).toEqual([]);
});

test("the check of a mail server asks at any address, and leaves no connection", async () => {
  const closed = Promise.withResolvers<void>();
  const server = Bun.listen({
    ...{ hostname: "127.0.0.1", port: 0 },
    socket: { data() {}, close: () => closed.resolve() },
  });
  spyOn(email, "verifyMailServer").mockImplementation(async (egress) => {
    const { signal } = new AbortController();
    const request = { host: "127.0.0.1", port: server.port, workspaceId: "", tls: undefined };
    await egress.connect({ ...request, timeoutMs: 60_000, signal });
    return undefined;
  });
  const flags = { "smtp-server": `127.0.0.1:${server.port}`, "smtp-from": "me@a.test" };
  const results = await Array.fromAsync(checkMailServer(loadConfig(flags, {})));
  expect(results.map(({ state }) => state)).toEqual(["ok"]);
  await closed.promise;
  server.stop(true);
});

test.each([
  ["javascript", "JavaScript"],
  ["python", "Python"],
] as const)(
  "the check of a guest for %s that cannot run has the reason",
  async (language, name) => {
    const asked: unknown[] = [];
    let ending = () => Promise.resolve();
    let closed = 0;
    const create = spyOn(guestSandbox, "createSandbox").mockReturnValue({
      inspect(...of: unknown[]) {
        asked.push(of);
        return ending();
      },
      async close() {
        closed += 1;
      },
    } as never);
    const subject = `user code in ${name}`;
    expect(await checkUserCode(language)).toEqual({
      state: "ok",
      subject,
      detail: "runs confined",
    });
    expect(create.mock.lastCall).toMatchObject([
      { guestCommand: [...selfCommand, "guest"], insecure: false },
    ]);
    expect(asked).toMatchObject([[expect.any(String), language, expect.any(String)]]);
    ending = () => Promise.reject(new Error("this kernel has no Landlock"));
    const detail = "this kernel has no Landlock";
    expect(await checkUserCode(language)).toEqual({ state: "fails", subject, detail });
    expect(closed).toBe(2);
  },
);
