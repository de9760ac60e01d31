import { expect, test } from "bun:test";
import { pbkdf2Sync } from "node:crypto";
import { SCRAM_ITERATIONS_MAX } from "../../src/destinations/limits.ts";
import {
  SCRAM_DERIVATIONS_MAX,
  ScramDerivations,
  type ScramParameters,
} from "../../src/destinations/scram-keys.ts";

const { signal } = new AbortController();
const parametersOf = (salt: string, over: Partial<ScramParameters> = {}): ScramParameters => ({
  hash: "sha256",
  password: "secret",
  salt: Buffer.from(salt),
  iterations: 4_096,
  ...over,
});

/** Derivations that begin at once and end when the test says so. */
class Derivations {
  running: { parameters: ScramParameters; end: () => void }[] = [];
  count = 0;
  most = 0;

  readonly derive = (parameters: ScramParameters): Promise<Buffer> => {
    this.count += 1;
    return new Promise((resolve) => {
      const one = {
        parameters,
        end: () => {
          this.running = this.running.filter((other) => other !== one);
          resolve(Buffer.from(parameters.salt));
        },
      };
      this.running.push(one);
      this.most = Math.max(this.most, this.running.length);
    });
  };
}

test("keys are derived one at a time for each workspace, few in all, and each workspace in turn", async () => {
  const derivations = new Derivations();
  const max = 3;
  const all = new ScramDerivations(derivations.derive, max);
  // 40 destinations of two workspaces that ask for many keys, and one destination of another.
  const asked = Array.from({ length: 40 }, (_, n) => {
    const workspace = n % 2 === 0 ? "even" : "odd";
    return all.keysOf(workspace).key(parametersOf(`${workspace}${n}`), signal);
  });
  let isDone = false;
  const good = all
    .keysOf("good")
    .key(parametersOf("good"), signal)
    .then(() => {
      isDone = true;
    });
  let before = 0;
  while (derivations.count < 41 || derivations.running.length > 0) {
    await Bun.sleep(0);
    const { running } = derivations;
    expect(running.length).toBeLessThanOrEqual(max);
    const workspaces = running.map(({ parameters }) => String(parameters.salt).replace(/\d/g, ""));
    expect(new Set(workspaces).size).toBe(workspaces.length);
    if (!isDone) before = derivations.count;
    running[0]?.end();
  }
  await Promise.all([...asked, good]);
  // The destination waits for at most one key of each other workspace, and for its own.
  expect(before).toBeLessThanOrEqual(4 + max);
  expect(derivations.most).toBe(max);
  expect(SCRAM_DERIVATIONS_MAX).toBeLessThanOrEqual(4);
});

test("a destination derives a key once while the server asks for the same", async () => {
  const derivations = new Derivations();
  const keys = new ScramDerivations(derivations.derive).keysOf("workspace");
  const key = async (parameters: ScramParameters) => {
    const asked = keys.key(parameters, signal);
    await Bun.sleep(0);
    for (const { end } of [...derivations.running]) end();
    return await asked;
  };
  const first = parametersOf("a");
  expect((await key(first)).toString()).toBe("a");
  expect((await key(parametersOf("a"))).toString()).toBe("a");
  expect(derivations.count).toBe(1);
  const others = [
    parametersOf("b"),
    parametersOf("b", { iterations: 4_097 }),
    parametersOf("b", { iterations: 4_097, password: "other" }),
    parametersOf("b", { iterations: 4_097, password: "other", hash: "sha512" }),
  ];
  for (const [n, other] of others.entries()) {
    await key(other);
    expect(derivations.count).toBe(n + 2);
  }
  // Connections to several brokers ask at once.
  const several = [1, 2, 3].map(() => keys.key(first, signal));
  await Bun.sleep(0);
  expect(derivations.running.length).toBe(1);
  derivations.running[0]!.end();
  expect((await Promise.all(several)).map(String)).toEqual(["a", "a", "a"]);
  expect(derivations.count).toBe(6);
});

test("a key is that of RFC 5802, and too many iterations are refused before they begin", async () => {
  const keys = new ScramDerivations().keysOf("workspace");
  for (const hash of ["sha256", "sha512"] as const) {
    const bytes = hash === "sha256" ? 32 : 64;
    const expected = pbkdf2Sync("secret", "salt", 4_096, bytes, hash);
    expect(await keys.key(parametersOf("salt", { hash }), signal)).toEqual(expected);
  }
  const iterations = SCRAM_ITERATIONS_MAX + 1;
  await expect(keys.key(parametersOf("salt", { iterations }), signal)).rejects.toThrow(
    `Expected at most ${SCRAM_ITERATIONS_MAX} iterations of SCRAM`,
  );
});

test("a key that waits for its turn is given up with its connection", async () => {
  const derivations = new Derivations();
  const all = new ScramDerivations(derivations.derive);
  const first = all.keysOf("workspace").key(parametersOf("a"), signal);
  const cut = new AbortController();
  const second = all.keysOf("workspace").key(parametersOf("b"), cut.signal);
  cut.abort(new Error("The connection is closed"));
  await expect(second).rejects.toThrow("The connection is closed");
  derivations.running[0]!.end();
  await first;
  expect(derivations.count).toBe(1);
});
