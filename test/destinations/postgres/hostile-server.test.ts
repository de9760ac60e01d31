import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { pbkdf2 } from "node:crypto";
import type { Socket } from "node:net";
import { promisify } from "node:util";
import { postgresKind } from "../../../src/destinations/postgres/postgres.ts";
import { ScramDerivations } from "../../../src/destinations/scram-keys.ts";
import { createEgress } from "../../../src/egress/egress.ts";
import { RawSink } from "../../egress/sink.ts";
import { outgoing } from "../outgoing.ts";

setDefaultTimeout(300_000);

/** Servers of a member's choice, which may send anything. */
const sinks: RawSink[] = [];
afterEach(() => {
  for (const sink of sinks.splice(0)) sink.close();
});

const int = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const message = (type: string, ...parts: (string | Buffer)[]) => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  return Buffer.concat([Buffer.from(type), int(body.length + 4), body]);
};
const scram = message("R", int(10), "SCRAM-SHA-256\0\0");
const challenge = (text: string) => message("R", int(11), text);
const welcome = Buffer.concat([message("R", int(0)), message("Z", "I")]);

type Answer = Buffer | ((socket: Socket, said: string) => void);

/** The verdict of a delivery to a server that answers each time with the next of these. */
async function verdictOf(timeoutMs: number, ...answers: Answer[]) {
  const turns = new Map<Socket, number>();
  const sink = new RawSink((socket, said) => {
    const turn = turns.get(socket) ?? 0;
    turns.set(socket, turn + 1);
    const answer = answers[turn];
    if (typeof answer === "function") answer(socket, said);
    else if (answer !== undefined) socket.write(answer);
  });
  sinks.push(sink);
  const egress = createEgress({ allow: ["127.0.0.0/8"] });
  const config = { host: "127.0.0.1", port: await sink.listen(), tls: "off" as const, timeoutMs };
  const account = { user: "u", password: "secret", database: "d" };
  const open = postgresKind(egress).open({ ...config, ...account }, "workspace");
  const event = outgoing({ type: "page", messageId: "m" });
  const verdict = await open.deliver([event], new AbortController().signal);
  await open.close();
  egress.close();
  return { verdict, sink };
}

const nonceOf = (said: string) => /r=([^,]+)$/.exec(said)![1]!;
const error = (code: string, text: string) => message("E", `SERROR\0C${code}\0M${text}\0\0`);

describe("a hostile or broken PostgreSQL server", () => {
  const answers: [string, Answer[]][] = [
    ["sends nothing", []],
    ["speaks HTTP", [Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")]],
    ["announces a message without end", [Buffer.from("R\xff\xff\xff\xff", "latin1")]],
    ["announces a message that is too short", [Buffer.from("R\0\0\0\x03", "latin1")]],
    ["sends an incomplete authentication message", [message("R", "\x01")]],
    ["asks for an unknown sign-in method", [message("R", int(99))]],
    ["asks for the password unencrypted", [message("R", int(3))]],
    ["offers no supported sign-in method", [message("R", int(10), "SCRAM-SHA-1\0\0")]],
    ["suspends a portal that does not exist", [message("s")]],
    ["starts to copy", [message("H", "\0\0\0")]],
    ["gives no salt", [scram, challenge("x")]],
    ["gives another nonce", [scram, challenge("r=abc,s=QUFB,i=4096")]],
    [
      "asks for years of hashing",
      [scram, (socket, said) => socket.write(challenge(`r=${nonceOf(said)}x,s=QUFB,i=999999999`))],
    ],
    [
      "does not prove that it knows the password",
      [
        scram,
        (socket, said) => socket.write(challenge(`r=${nonceOf(said)}x,s=QUFB,i=4096`)),
        Buffer.concat([message("R", int(12), "v=QUFB"), welcome]),
      ],
    ],
    [
      "skips its proof",
      [
        scram,
        (socket, said) => socket.write(challenge(`r=${nonceOf(said)}x,s=QUFB,i=4096`)),
        welcome,
      ],
    ],
    ["accepts anybody and sends nothing more", [welcome]],
    ["is ready before signing in", [message("Z", "I")]],
    ["ends with an error without fields", [welcome, message("E", "\0")]],
    ["sends a row that is cut", [welcome, message("D", "\0\x02\0\0\0\x05ab")]],
    ["sends a row of impossible length", [welcome, message("D", "\0\x01\x7f\xff\xff\xff")]],
    ["sends empty rows without end", [welcome, (socket) => forever(socket, message("D", "\0\0"))]],
    ["closes the connection", [(socket) => socket.end()]],
    ["closes the connection after signing in", [welcome, (socket) => socket.destroy()]],
    ["refuses", [error("28P01", "no")]],
    ["is starting", [error("57P03", "the database system is starting up")]],
  ];

  test.each(answers)("is retried: %s", async (_, turns) => {
    const { verdict, sink } = await verdictOf(500, ...turns);
    expect(verdict).toMatchObject({
      ...{ kind: "retry", reason: expect.stringMatching(/^[A-Z].*[^.]$/) },
    });
    // Never unencrypted, whatever the server asks for.
    expect(sink.requests.join("")).not.toContain("secret");
  });

  test.each([
    ["notices", message("N", "x".repeat(900))],
    ["rows", message("D", "\0\x01", int(900), "x".repeat(900))],
  ])("is disconnected before the timeout when it sends endless %s", async (_, piece) => {
    const { verdict } = await verdictOf(60_000, welcome, (socket) => forever(socket, piece));
    const reason = "The database sent an unexpected message";
    expect(verdict).toEqual({ kind: "retry", reason });
  });

  test("gets one key of a workspace at a time, however many destinations sign in", async () => {
    let running = 0;
    let most = 0;
    let count = 0;
    const derivations = new ScramDerivations(async ({ password, salt, iterations }) => {
      count += 1;
      most = Math.max(most, ++running);
      const key = await promisify(pbkdf2)(password, salt, iterations, 32, "sha256");
      running -= 1;
      return key;
    }, 4);
    const turns = new Map<Socket, number>();
    const sink = new RawSink((socket, said) => {
      const turn = turns.get(socket) ?? 0;
      turns.set(socket, turn + 1);
      const salt = Buffer.from(crypto.randomUUID()).toString("base64");
      if (turn === 0) socket.write(scram);
      else if (turn === 1) socket.write(challenge(`r=${nonceOf(said)}x,s=${salt},i=20000`));
      else socket.destroy();
    });
    sinks.push(sink);
    const egress = createEgress({ allow: ["127.0.0.0/8"] });
    const address = { host: "127.0.0.1", port: await sink.listen(), tls: "off" as const };
    const config = { ...address, user: "u", password: "secret", database: "d" };
    const kind = postgresKind(egress, derivations);
    const opens = Array.from({ length: 20 }, () => kind.open(config, "workspace"));
    const event = outgoing({ type: "page", messageId: "m" });
    const { signal } = new AbortController();
    const verdicts = await Promise.all(opens.map((open) => open.deliver([event], signal)));
    expect(new Set(verdicts.map((verdict) => verdict.kind))).toEqual(new Set(["retry"]));
    expect([most, count]).toEqual([1, 20]);
    for (const open of opens) await open.close();
    egress.close();
  });

  test("is understood when it sends its messages byte by byte", async () => {
    const slowly = (bytes: Buffer) => async (socket: Socket) => {
      for (const byte of bytes) {
        socket.write(Buffer.from([byte]));
        await Bun.sleep(0);
      }
    };
    const { verdict } = await verdictOf(60_000, slowly(error("3D000", "none")));
    const reason = "There is no such database: none (3D000)";
    expect(verdict).toEqual({ kind: "retry", reason, answer: { code: "3D000", body: "none" } });
  });

  test("gets its long error message cut", async () => {
    const { verdict } = await verdictOf(60_000, error("53300", "x".repeat(100_000)));
    expect((verdict as { reason: string }).reason.length).toBeLessThan(500);
  });
});

function forever(socket: Socket, piece: Buffer): void {
  const many = Buffer.concat(Array.from({ length: 100 }, () => piece));
  const timer = setInterval(() => {
    if (socket.destroyed) clearInterval(timer);
    else socket.write(many);
  }, 1);
}
