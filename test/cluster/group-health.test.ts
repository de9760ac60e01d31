import { expect, test } from "bun:test";
import { judgeGroup } from "../../src/cluster/membership/group-health.ts";
import { awaitBrokers } from "../../src/cluster/topics/await-brokers.ts";

const silences = [0, 60_000];

test("a node that some broker answers is never in trouble, and no sentence blames all brokers", () => {
  for (const silentMs of silences) {
    for (const isMember of [true, false]) {
      const joined = { isMember, hasJoined: true, joinError: undefined, runsPartitions: false };
      const facts = { group: "p", ...joined, silentMs, silentMsMax: 15_000 };
      const answered = judgeGroup({ ...facts, isAnyResponsive: true });
      expect(answered.trouble).toBeUndefined();
      expect(answered.warnings).toEqual([
        ...(silentMs > 0 ? ["The coordinator of the group p has not answered for 60 s"] : []),
        ...(isMember ? [] : ["This node is not in the group p at present, and runs no partition"]),
      ]);
      const away = judgeGroup({ ...facts, isAnyResponsive: false });
      expect(away.warnings).toEqual([]);
      expect(away.trouble).toBe(silentMs > 0 ? "No broker has answered for 60 s" : undefined);
    }
  }
});

test("a node that the group has never taken says with which answer it was refused", () => {
  const joinError = Object.assign(new Error("No"), { apiId: "GROUP_AUTHORIZATION_FAILED" });
  const facts = {
    ...{
      group: "p",
      isMember: false,
      runsPartitions: false,
      silentMs: 0,
      silentMsMax: 15_000,
      isAnyResponsive: true,
    },
    joinError,
  };
  expect(judgeGroup({ ...facts, hasJoined: false }).trouble).toBe(
    "This node cannot join the group p: its coordinator answers GROUP_AUTHORIZATION_FAILED",
  );
  // A member that was in the group joins again by itself, and answers all requests meanwhile.
  expect(judgeGroup({ ...facts, hasJoined: true }).trouble).toBeUndefined();
  const starting = judgeGroup({ ...facts, joinError: undefined, hasJoined: false });
  expect(starting).toEqual({ trouble: undefined, warnings: [] });
});

test("a node is in trouble as soon as requests fail, once no broker answers", () => {
  const joined = { isMember: true, hasJoined: true, joinError: undefined, runsPartitions: true };
  const facts = { group: "p", ...joined, silentMs: 6_000, silentMsMax: 15_000 };
  expect(judgeGroup({ ...facts, isAnyResponsive: false }).trouble).toBe(
    "No broker has answered for 6 s",
  );
  // The coordinator alone may be silent for longer, because requests do not need it.
  expect(judgeGroup({ ...facts, isAnyResponsive: true }).warnings).toEqual([]);
  const brief = { ...facts, silentMs: 4_000 };
  expect(judgeGroup({ ...brief, isAnyResponsive: false }).trouble).toBeUndefined();
});

test("a node that the group removed does not claim to run no partition while it stops them", () => {
  const facts = {
    ...{ group: "p", isMember: false, hasJoined: true, joinError: undefined },
    ...{ silentMs: 0, silentMsMax: 15_000, isAnyResponsive: true },
  };
  expect(judgeGroup({ ...facts, runsPartitions: true }).warnings).toEqual([
    "This node is not in the group p at present, and stops its partitions",
  ]);
  expect(judgeGroup({ ...facts, runsPartitions: false }).warnings).toEqual([
    "This node is not in the group p at present, and runs no partition",
  ]);
});

/** The end of a start whose brokers, `a:1` and so on, have failed with these errors. */
async function startEnd(errors: readonly unknown[], refusedMsMax: number): Promise<unknown> {
  const failures = errors.map((error, at) => ({
    address: `${"abc"[at]}:1`,
    error,
    isProbed: true,
  }));
  const view = { isEmpty: true, clusterId: undefined };
  const clients = { view, lastProbes: () => failures, foreignBrokers: () => [] };
  return await awaitBrokers(clients as never, refusedMsMax).catch((error) => error.message);
}

const NEVER_MS = 100_000_000;
const begin = "Cannot use the brokers of cluster.kafka: ";
const errorOf = (more: object, message = "no", name = "Error") =>
  Object.assign(new Error(message), { name, ...more });
const signIn = errorOf({ code: "PLT_KFK_AUTHENTICATION" }, "bad password");
const refused = new Error("connect ECONNREFUSED");

test.each([
  [
    "that do not use SASL",
    errorOf({ errors: [errorOf({ apiId: "ILLEGAL_SASL_STATE" })] }),
    "broker a:1 does not use SASL: unset cluster.sasl, or name a port with SASL",
  ],
  [
    "that refuse the sign-in",
    errorOf({ cause: signIn }),
    "broker a:1 refuses the sign-in: check cluster.sasl, cluster.user and cluster.password (bad password)",
  ],
  [
    "with another TLS",
    errorOf({ code: "PLT_KFK_USER", cause: new Error("self signed") }, "TLS failed"),
    "TLS to broker a:1 fails: check cluster.tls and cluster.ca (self signed)",
  ],
])("a start ends at once at brokers %s, and says what to do", async (_, error, sentence) => {
  expect(await startEnd([error], NEVER_MS)).toBe(begin + sentence);
});

test("a start waits a while for brokers that refuse connections, and longer for silent ones", async () => {
  expect(await startEnd([refused], 1)).toBe(`${begin}connect ECONNREFUSED`);
  expect(await startEnd([refused, refused], 1)).toBe(`${begin}connect ECONNREFUSED`);
  const both =
    "broker b:1 refuses the sign-in: check cluster.sasl, cluster.user and cluster.password";
  expect(await startEnd([refused, signIn], 1)).toBe(
    `${begin}connect ECONNREFUSED; ${both} (bad password)`,
  );
  const silent = [
    errorOf({}, "no answer", "TimeoutError"),
    errorOf({}, "connect timed out"),
    undefined,
  ];
  for (const error of silent) expect(await startEnd([refused, error], 1)).toBeUndefined();
  const user = errorOf({ code: "PLT_KFK_USER" }, "Other");
  expect(await startEnd([user], 1)).toBe(`${begin}Other`);
});
