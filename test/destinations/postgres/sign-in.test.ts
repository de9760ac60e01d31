import { expect, test } from "bun:test";
import { createHash, createHmac, pbkdf2Sync } from "node:crypto";
import { NotPostgres } from "../../../src/destinations/postgres/protocol.ts";
import { PostgresSignIn } from "../../../src/destinations/postgres/sign-in.ts";
import { ScramKeys, type ScramParameters } from "../../../src/destinations/scram-keys.ts";

const { signal } = new AbortController();

/** The messages of a sign-in: each has a method, and what follows it. */
function setup({ user = "u", password = "secret", isSecure = false } = {}) {
  const derived: ScramParameters[] = [];
  const scramKeys = new ScramKeys(async (parameters) => {
    derived.push(parameters);
    const { salt, iterations } = parameters;
    return pbkdf2Sync(parameters.password, salt, iterations, 32, "sha256");
  });
  const signIn = new PostgresSignIn({ user, password, scramKeys }, isSecure);
  const respond = async (method: number, rest: string | Buffer = "") => {
    const head = Buffer.alloc(4);
    head.writeInt32BE(method);
    const body = Buffer.concat([head, Buffer.from(rest as string)]);
    const response = await signIn.respond({ type: "R", body }, signal);
    if (response === undefined) return undefined;
    expect([response[0], response.readInt32BE(1)]).toEqual([0x70, response.length - 1]);
    return response.subarray(5);
  };
  const begin = async () => {
    const first = (await respond(10, "SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"))!;
    const head = "SCRAM-SHA-256\0".length;
    const text = first.toString("latin1", head + 4);
    expect(first.toString("latin1", 0, head)).toBe("SCRAM-SHA-256\0");
    expect(first.readInt32BE(head)).toBe(text.length);
    const nonce = /^n,,n=,r=([A-Za-z0-9+/]{24})$/.exec(text)![1]!;
    return { nonce, bare: text.slice("n,,".length) };
  };
  return { signIn, respond, begin, derived };
}

const OK = 0;
const PLAIN = 3;
const MD5 = 5;
const CHALLENGE = 11;
const FINAL = 12;
const hmac = (key: Buffer, text: string) => createHmac("sha256", key).update(text).digest();
const md5 = (bytes: Buffer) => createHash("md5").update(bytes).digest("hex");
const salt = Buffer.from("a salt");
const challengeOf = (nonce: string, iterations: number | string = 4_096) =>
  `r=${nonce},s=${salt.toString("base64")},i=${iterations}`;

test("a server that accepts the user without a password ends the sign-in", async () => {
  const { signIn, respond } = setup();
  expect(signIn.isDone).toBe(false);
  expect(await respond(OK)).toBeUndefined();
  expect(signIn.isDone).toBe(true);
});

test("the password itself is sent inside TLS alone", async () => {
  const secure = setup({ isSecure: true });
  expect(String(await secure.respond(PLAIN))).toBe("secret\0");
  expect(secure.signIn.isDone).toBe(false);
  await expect(setup().respond(PLAIN)).rejects.toThrow(
    "The database asks for the password unencrypted, without TLS",
  );
});

test("a password for MD5 is hashed with the user, and then with the salt", async () => {
  const bytes = Buffer.from([0, 200, 3, 255]);
  const inner = md5(Buffer.from("secretu"));
  const expected = `md5${md5(Buffer.concat([Buffer.from(inner), bytes]))}\0`;
  const { respond } = setup();
  expect(String(await respond(MD5, bytes))).toBe(expected);
  expect(String(await respond(MD5, Buffer.concat([bytes, bytes])))).toBe(expected);
});

test("client and server prove to each other that they know the password", async () => {
  const { signIn, respond, begin } = setup();
  const { nonce, bare } = await begin();
  const challenge = challengeOf(`${nonce}!server~`);
  const final = (await respond(CHALLENGE, challenge))!.toString();
  const [, unproved, proof] = /^(c=biws,r=.+),p=(.+)$/.exec(final)!;
  expect(unproved).toBe(`c=biws,r=${nonce}!server~`);
  const salted = pbkdf2Sync("secret", salt, 4_096, 32, "sha256");
  const text = `${bare},${challenge},${unproved}`;
  const key = hmac(salted, "Client Key");
  const signature = hmac(createHash("sha256").update(key).digest(), text);
  const xored = Buffer.from(proof!, "base64").map((byte, at) => byte ^ signature[at]!);
  expect(Buffer.from(xored).equals(key)).toBe(true);
  const theirs = hmac(hmac(salted, "Server Key"), text).toString("base64");
  expect(await respond(FINAL, `v=${theirs}`)).toBeUndefined();
  expect(signIn.isDone).toBe(false);
  expect(await respond(OK)).toBeUndefined();
  expect(signIn.isDone).toBe(true);
});

test("a server that accepts before its proof, or proves nothing, is not trusted", async () => {
  const message = "The database cannot prove that it knows the password";
  await expect(setup().respond(FINAL, "v=QUFB")).rejects.toThrow(message);
  const { signIn, respond, begin } = setup();
  const { nonce } = await begin();
  await respond(CHALLENGE, challengeOf(`${nonce}x`));
  const wrong = Buffer.alloc(32, 7).toString("base64");
  for (const final of ["", "e=other-error", "v=QUFB", `v=${wrong}`, `v=${wrong},x`]) {
    await expect(respond(FINAL, final)).rejects.toThrow(message);
  }
  await expect(respond(OK)).rejects.toThrow(NotPostgres);
  expect(signIn.isDone).toBe(false);
});

test("a password is normalized before its key is derived", async () => {
  const { respond, begin, derived } = setup({ password: "ﬁ²" });
  const { nonce } = await begin();
  await respond(CHALLENGE, challengeOf(`${nonce}x`, 1));
  expect(derived).toEqual([{ hash: "sha256", password: "fi2", salt, iterations: 1 }]);
});

test.each([
  ["another nonce", () => challengeOf("another")],
  ["a nonce with a comma", (nonce: string) => challengeOf(`${nonce},x`)],
  ["no salt", (nonce: string) => `r=${nonce}x,s=,i=4096`],
  ["no iterations", (nonce: string) => challengeOf(`${nonce}x`, 0)],
  ["too many digits", (nonce: string) => challengeOf(`${nonce}x`, "1234567890")],
  ["more members", (nonce: string) => `${challengeOf(`${nonce}x`)},m=1`],
] as [string, (nonce: string) => string][])(
  "a challenge with %s is none of PostgreSQL",
  async (_, challenge) => {
    const { respond, begin, derived } = setup();
    const { nonce } = await begin();
    await expect(respond(CHALLENGE, challenge(nonce))).rejects.toThrow(NotPostgres);
    expect(derived).toEqual([]);
  },
);

test("methods that are not supported are named as such", async () => {
  const { respond } = setup();
  await expect(respond(10, "SCRAM-SHA-256-PLUS\0SCRAM-SHA-1\0\0")).rejects.toThrow(
    "The database does not offer SCRAM-SHA-256",
  );
  for (const method of [1, 2, 4, 6, 7, 8, 9, 13]) {
    await expect(respond(method)).rejects.toThrow("unsupported sign-in method");
  }
  const body = Buffer.from([0, 0, 0]);
  await expect(setup().signIn.respond({ type: "R", body }, signal)).rejects.toThrow(NotPostgres);
});
