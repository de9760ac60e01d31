import { expect, spyOn, test } from "bun:test";
import type { BrokerConnection } from "../../src/destinations/kafka/broker-connection.ts";
import { KafkaFailure } from "../../src/destinations/kafka/failures.ts";
import { authenticate } from "../../src/destinations/kafka/sasl.ts";
import {
  ScramKeys,
  type ScramParameters,
  TooManyIterations,
} from "../../src/destinations/scram-keys.ts";

const { signal } = new AbortController();
type Done = (error: Error | null, answer?: { sessionLifetimeMs: bigint }) => void;
type Mechanism = "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512";

/** A connection whose steps of signing in are kept, and end with `outcome`. */
function connectionOf(outcome: { lifetimeMs?: bigint; error?: Error; handshake?: Error }) {
  const { lifetimeMs = 0n, error = null, handshake } = outcome;
  const steps: unknown[][] = [];
  const hashes: { hi: (...args: unknown[]) => Promise<Buffer> }[] = [];
  const end = (done: Done) => done(error, { sessionLifetimeMs: lifetimeMs });
  const kafka = {
    saslHandshakeV1: {
      api: {
        async async(over: unknown, mechanism: string) {
          steps.push(["handshake", over, mechanism]);
          if (handshake !== undefined) throw handshake;
        },
      },
    },
    saslPlain: {
      authenticate(ask: unknown, over: unknown, user: string, password: string, done: Done) {
        steps.push(["plain", ask, over, user, password]);
        end(done);
      },
    },
    saslScramSha: {
      defaultCrypto: { h: "hash", hi: "slow" },
      authenticate(...args: unknown[]) {
        const done = args.pop() as Done;
        hashes.push(args.pop() as (typeof hashes)[number]);
        steps.push(["scram", ...args]);
        end(done);
      },
    },
  };
  const connection = {
    kafka,
    asLibraryConnection: "over",
    newestVersion: (name: string) => `newest ${name}`,
    expiresAt: Number.POSITIVE_INFINITY,
  };
  const derived: ScramParameters[] = [];
  const keys = new ScramKeys(async (parameters) => {
    derived.push(parameters);
    return Buffer.from("key");
  });
  const signIn = async (mechanism: Mechanism) => {
    const account = { user: "u", password: "p", mechanism };
    const asked = connection as unknown as BrokerConnection;
    await authenticate(asked, account, keys, signal);
  };
  const failure = (mechanism: Mechanism) =>
    signIn(mechanism).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
  return { connection, steps, hashes, derived, signIn, failure };
}

const ask = "newest saslAuthenticate";
test.each([
  ["PLAIN", ["plain", ask, "over", "u", "p"]],
  ["SCRAM-SHA-256", ["scram", ask, "over", "SHA-256", "u", "p"]],
  ["SCRAM-SHA-512", ["scram", ask, "over", "SHA-512", "u", "p"]],
] as const)("a user signs in by %s after the handshake", async (mechanism, step) => {
  const { steps, signIn, connection } = connectionOf({});
  await signIn(mechanism);
  expect(steps).toEqual([["handshake", "over", mechanism], [...step]]);
  expect(connection.expiresAt).toBe(Number.POSITIVE_INFINITY);
});

test.each([
  ["sha256", "sha256"],
  ["sha512", "sha512"],
])("the keys of SCRAM with %s are derived by the destination", async (algorithm, hash) => {
  const { hashes, signIn, derived } = connectionOf({});
  await signIn("SCRAM-SHA-256");
  const [{ hi, ...rest } = { hi: undefined }] = hashes;
  expect(rest as object).toEqual({ h: "hash" });
  const salt = Buffer.from("salt");
  expect((await hi!({ algorithm }, "secret", salt, 4_096)).toString()).toBe("key");
  expect(derived).toEqual([{ hash, password: "secret", salt, iterations: 4_096 } as never]);
});

test("a session is used for four fifths of the lifetime that the broker gives it", async () => {
  const clock = spyOn(performance, "now").mockReturnValue(1_000);
  try {
    const { connection, signIn } = connectionOf({ lifetimeMs: 500n });
    await signIn("PLAIN");
    expect(connection.expiresAt).toBe(1_400);
    const other = connectionOf({ lifetimeMs: 1n });
    await other.signIn("SCRAM-SHA-512");
    expect(other.connection.expiresAt).toBe(1_000.8);
  } finally {
    clock.mockRestore();
  }
});

const broker = (apiCode: number) => Object.assign(new Error("said"), { apiCode });
const refused = (message: string, more: object = {}) =>
  Object.assign(new Error(message), { code: "PLT_KFK_AUTHENTICATION", ...more });
test.each([
  [broker(58), "The brokers do not accept the user or the password (error 58)"],
  [broker(33), "The brokers do not offer the mechanism (error 33): PLAIN"],
  [refused("x", { cause: broker(34) }), "The brokers ask for no user on this port (error 34)"],
  [refused("x", { cause: new TooManyIterations() }), new TooManyIterations().message],
  [refused("Invalid server signature."), "Signing in failed: Invalid server signature"],
  [refused("y".repeat(301)), `Signing in failed: ${"y".repeat(300)}`],
])("a failed sign-in waits for an operator: %p", async (error, message) => {
  for (const outcome of [{ error }, { handshake: error }]) {
    const failure = (await connectionOf(outcome).failure("PLAIN")) as KafkaFailure;
    expect(failure).toBeInstanceOf(KafkaFailure);
    expect([failure.outlook, failure.message]).toEqual(["later", message]);
  }
});

test("an error that no broker gave stays as it is", async () => {
  for (const error of [new Error("Timed out"), Object.assign(new Error("x"), { code: "OTHER" })]) {
    expect(await connectionOf({ error }).failure("SCRAM-SHA-512")).toBe(error);
  }
});
