import { expect, spyOn, test } from "bun:test";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import {
  ANSWER_BODY_BYTES_MAX,
  DATABASE_ANSWER_BYTES_MAX,
  DATABASE_IDLE_MS_MAX,
} from "../../../src/destinations/limits.ts";
import type { PostgresConfig } from "../../../src/destinations/postgres/config.ts";
import { PostgresDatabase } from "../../../src/destinations/postgres/database.ts";
import {
  PostgresError,
  PostgresSession,
  SessionLost,
} from "../../../src/destinations/postgres/postgres-session.ts";
import { simpleQuery, terminate } from "../../../src/destinations/postgres/protocol.ts";
import { ScramDerivations } from "../../../src/destinations/scram-keys.ts";
import type { DatabaseFailure } from "../../../src/destinations/tables/table-database.ts";
import type { Egress } from "../../../src/egress/egress.ts";

const { signal } = new AbortController();

const int = (value: number, bytes = 4) => {
  const buffer = Buffer.alloc(bytes);
  buffer.writeIntBE(value, 0, bytes);
  return buffer;
};
const message = (type: string, ...parts: (string | Buffer)[]) => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  return Buffer.concat([Buffer.from(type), int(body.length + 4), body]);
};
const row = (...values: (string | null)[]) =>
  message(
    "D",
    int(values.length, 2),
    ...values.flatMap((value) =>
      value === null ? [int(-1)] : [int(Buffer.byteLength(value)), value],
    ),
  );
const error = (code: string, text = "no", more = "") =>
  message("E", `SERROR\0C${code}\0M${text}\0${more}\0`);
const ready = message("Z", "I");
const accepted = message("R", int(0));
/** What a server says between its acceptance of the user and its first query. */
const settings = Buffer.concat([message("S", "TimeZone\0UTC\0"), message("K", int(1), int(2))]);
const welcome = Buffer.concat([accepted, settings, ready]);

type Answer = Buffer | "close" | "silence";

/** A socket to a server that answers each message of the client with the next of these. */
class FakeSocket extends EventEmitter {
  readonly written: Buffer[] = [];
  destroyed = 0;
  readonly #answers: Answer[];

  constructor(...answers: Answer[]) {
    super();
    this.#answers = answers;
  }

  get socket(): Socket {
    return this as unknown as Socket;
  }

  write(bytes: Buffer): void {
    this.written.push(bytes);
    const answer = this.#answers.shift() ?? "silence";
    if (answer === "close") queueMicrotask(() => this.emit("close"));
    else if (answer !== "silence") queueMicrotask(() => this.emit("data", answer));
  }

  end(bytes: Buffer, done: () => void): void {
    this.written.push(bytes);
    done();
  }

  destroy(): void {
    this.destroyed += 1;
    queueMicrotask(() => this.emit("close"));
  }
}

const derivations = new ScramDerivations();
const account = { user: "u", password: "p", database: "d", scramKeys: derivations.keysOf("w") };
const open = (socket: FakeSocket) => PostgresSession.open(socket.socket, account, false);
const query = simpleQuery("select 1");

test("a session begins with the user, the database and its own settings", async () => {
  const socket = new FakeSocket(welcome);
  const session = await open(socket);
  expect(session.isOpen).toBe(true);
  const parameters = [
    ...["user", "u", "database", "d", "client_encoding", "UTF8"],
    ...["application_name", "pixelmill", ""],
  ];
  const body = Buffer.from(`\0\x03\0\0${parameters.join("\0")}\0`);
  expect(socket.written).toEqual([Buffer.concat([int(body.length + 4), body])]);
});

test("a query gets the rows of all its statements, and the session stays open", async () => {
  const notices = ["1", "2", "T", "N", "n", "I"].map((type) => message(type, "x"));
  const rows = [row("a", null), message("C", "SELECT 1\0"), row("b", "")];
  const socket = new FakeSocket(welcome, Buffer.concat([...notices, ...rows, ready]), ready);
  const session = await open(socket);
  expect(await session.run(query)).toEqual([
    ["a", null],
    ["b", ""],
  ]);
  expect(await session.run(query)).toEqual([]);
  expect(socket.written.slice(1)).toEqual([query, query]);
});

test("the first error of a query fails it, and not the next query", async () => {
  const failed = Buffer.concat([row("a"), error("22000", "first"), error("23000", "then"), ready]);
  const socket = new FakeSocket(welcome, failed, Buffer.concat([row("b"), ready]));
  const session = await open(socket);
  await expect(session.run(query)).rejects.toMatchObject({ code: "22000", message: "first" });
  expect([session.isOpen, await session.run(query)]).toEqual([true, [["b"]]]);
});

test.each(["08006", "57P01", "57P03"])("the error %s ends the session at once", async (code) => {
  const socket = new FakeSocket(welcome, error(code));
  const session = await open(socket);
  await expect(session.run(query)).rejects.toMatchObject({ code });
  expect([session.isOpen, socket.destroyed > 0]).toEqual([false, true]);
  await expect(session.run(query)).rejects.toThrow(SessionLost);
});

test("an error of class 57 that ends no session leaves it open", async () => {
  const session = await open(new FakeSocket(welcome, Buffer.concat([error("57014"), ready])));
  await expect(session.run(query)).rejects.toMatchObject({ code: "57014" });
  expect(session.isOpen).toBe(true);
});

test("an error before the end of the sign-in is the last message", async () => {
  const socket = new FakeSocket(error("28P01", "wrong"));
  await expect(open(socket)).rejects.toMatchObject({ code: "28P01", message: "wrong" });
  expect(socket.destroyed).toBeGreaterThan(0);
});

test.each([
  ["is ready before the user is accepted", ready],
  ["sends a message that no query has", Buffer.concat([accepted, message("s")])],
])("a server that %s is disconnected", async (_, answer) => {
  const socket = new FakeSocket(answer);
  await expect(open(socket)).rejects.toThrow("The database sent an unexpected message");
  expect(socket.destroyed).toBeGreaterThan(0);
});

test("a message without a query ends the session", async () => {
  const socket = new FakeSocket(welcome);
  const session = await open(socket);
  socket.emit("data", message("N", "x"));
  expect(session.isOpen).toBe(false);
  await expect(session.run(query)).rejects.toThrow("The connection is closed");
  expect(socket.written).toHaveLength(1);
});

test("a session that the server ends fails its query, and every later one", async () => {
  const socket = new FakeSocket(welcome, "close");
  const session = await open(socket);
  await expect(session.run(query)).rejects.toThrow("The database ended the connection");
  expect(session.isOpen).toBe(false);
  await expect(session.run(query)).rejects.toThrow("The connection is closed");
});

test("the bytes of a response are bounded, and counted for each query alone", async () => {
  const size = DATABASE_ANSWER_BYTES_MAX - ready.length;
  const most = (more: number) => row("x".repeat(size + more - row("").length));
  const whole = Buffer.concat([most(0), ready]);
  expect(whole.length).toBe(DATABASE_ANSWER_BYTES_MAX);
  const session = await open(new FakeSocket(welcome, whole, whole));
  for (const _ of [1, 2]) expect((await session.run(query))[0]).toHaveLength(1);
  const longer = await open(new FakeSocket(welcome, Buffer.concat([most(1), ready])));
  await expect(longer.run(query)).rejects.toThrow("unexpected message");
});

test("a session that is closed says so to the server", async () => {
  const socket = new FakeSocket(welcome);
  const session = await open(socket);
  session.close();
  expect([session.isOpen, socket.destroyed, socket.written.at(-1)]).toEqual([false, 1, terminate]);
});

test("an error has its column, its constraint, and its message with detail and hint, cut", () => {
  const of = (fields: object) => new PostgresError(new Map(Object.entries(fields)));
  const full = of({
    C: "23505",
    M: "message",
    c: "column",
    n: "constraint",
    D: "detail",
    H: "hint",
  });
  expect([full.code, full.column, full.constraint, full.message, full.text]).toEqual([
    ...["23505", "column", "constraint", "message", "message\ndetail\nhint"],
  ]);
  const bare = of({ H: "hint" });
  expect([bare.code, bare.column, bare.message, bare.text]).toEqual([
    ...["", undefined, "The database failed", "hint"],
  ]);
  const long = of({ M: "m".repeat(5_000), D: "d".repeat(5_000) });
  expect(long.message).toBe("m".repeat(300));
  expect(long.text).toBe(["m", "d"].map((it) => it.repeat(ANSWER_BODY_BYTES_MAX)).join("\n"));
});

type Connecting = Parameters<Egress["connect"]>[0];

/** A database whose connections get these sockets in turn. */
function setup(sockets: FakeSocket[], more: object = {}) {
  const asked: Connecting[] = [];
  const egress = {
    async connect(request: Connecting) {
      asked.push(request);
      const socket = sockets[asked.length - 1];
      if (socket !== undefined) return socket.socket;
      return await new Promise((_, reject) => {
        request.signal!.addEventListener("abort", () => reject(request.signal!.reason));
      });
    },
  } as unknown as Egress;
  const config = { host: "h", database: "d", user: "u", password: "p", ...more } as PostgresConfig;
  const database = new PostgresDatabase(config, "w", egress, derivations);
  const within = <T>(work: () => Promise<T>) => database.within(signal, work);
  const failure = (work: () => Promise<unknown>) =>
    within(work).then(
      () => undefined,
      (thrown: DatabaseFailure) => thrown,
    );
  return { database, within, failure, asked };
}
/** The rows of a request's statements; the first statement sets the settings. */
const rows = (...all: Buffer[]) => Buffer.concat([row("30000"), ...all, ready]);
const failed = (code: string) => Buffer.concat([row("30000"), error(code), ready]);
const created = new Map([["id", "string"]] as const);

test("a table is described by its columns, its mark and its key", async () => {
  const described = rows(
    row("id", "text", "f", "t", "f"),
    row("n", "bigint", "t", "t", "f"),
    row(null, null, null, "t", "f"),
  );
  const index = rows(row(null, null, null, "f", "t"));
  const socket = new FakeSocket(welcome, described, index, rows());
  const { database, within, asked } = setup([socket]);
  const found = await within(() => database.describe("t"));
  expect(found).toEqual({
    columns: new Map([
      ["id", { type: "string", sqlType: "text" }],
      ["n", { type: "other", sqlType: "bigint" }],
    ] as const),
    ...{ isMarked: true, hasOwnKey: false },
  });
  expect(await within(() => database.describe("t"))).toEqual({
    ...{ columns: new Map(), isMarked: false, hasOwnKey: true },
  });
  expect(await within(() => database.describe("t"))).toBeUndefined();
  const text = String(socket.written[1]);
  expect(text).toContain("set_config('statement_timeout', '30000', true)");
  expect(text).toContain("set_config('lock_timeout', '5000', true)");
  expect(text).toContain("\0\0\0\x06public\0\0\0\x01t\0\0\0\x09pixelmill");
  expect(asked).toHaveLength(1);
  expect(asked[0]).toMatchObject({ workspaceId: "w", host: "h", port: 5432, timeoutMs: 30_000 });
});

test("the tables of a schema are counted, and none without an answer", async () => {
  const socket = new FakeSocket(welcome, rows(row("12")), rows());
  const { database, within } = setup([socket], { schema: "s" });
  expect(await within(() => database.countTables())).toBe(12);
  expect(await within(() => database.countTables())).toBe(0);
});

test("a table is created with its schema, where that is missing, and with its mark", async () => {
  const there = new FakeSocket(welcome, rows(row("1")), rows());
  const one = setup([there], { schema: "s" });
  await one.within(() => one.database.createTable("t", "id", created));
  expect(there.written).toHaveLength(3);
  expect(String(there.written[2])).toContain('create table "s"."t" ("id" text primary key)');
  expect(String(there.written[2])).toContain(`comment on table "s"."t" is 'pixelmill'`);
  const missing = new FakeSocket(welcome, rows(), rows(), rows());
  const other = setup([missing], { schema: "s" });
  await other.within(() => other.database.createTable("t", "id", created));
  expect(String(missing.written[2])).toContain('create schema if not exists "s"');
  expect(missing.written).toHaveLength(4);
});

test("another writer may create a table first, and any other error is a failure", async () => {
  for (const code of ["42P07", "42P06", "42710", "23505"]) {
    const { database, failure } = setup([new FakeSocket(welcome, rows(row("1")), failed(code))]);
    const create = () => database.createTable("t", "id", created);
    expect([code, await failure(create)]).toEqual([code, undefined]);
  }
  const { database, failure } = setup([new FakeSocket(welcome, rows(row("1")), failed("42501"))]);
  const thrown = await failure(() => database.createTable("t", "id", created));
  expect(thrown?.code).toBe("42501");
});

test("a connection test writes a row and rolls it back, in a schema that it creates where it is missing", async () => {
  for (const [found, isCreated] of [
    [rows(row("1")), false],
    [rows(), true],
  ] as const) {
    const socket = new FakeSocket(welcome, found, ready);
    const { database, within } = setup([socket], { schema: "s" });
    await within(() => database.testWrite());
    const text = String(socket.written[2]);
    expect(text.includes('create schema "s"')).toBe(isCreated);
    expect(text).toMatch(/begin; .*insert into .*; rollback\0$/);
  }
});

test("a session that was lost while it was idle is replaced once, and its query sent again", async () => {
  const first = new FakeSocket(welcome, rows(), "close");
  const second = new FakeSocket(welcome, rows(row("7")), "close");
  const third = new FakeSocket(welcome, "close");
  const { database, within, failure, asked } = setup([first, second, third]);
  await within(() => database.countTables());
  expect(await within(() => database.countTables())).toBe(7);
  expect(asked).toHaveLength(2);
  expect(second.written[1]).toEqual(first.written[2]!);
  const lost = await failure(() => database.countTables());
  expect([lost?.kind, lost?.message]).toEqual(["later", "The database ended the connection"]);
  expect(asked).toHaveLength(3);
});

test("a new session that is lost is not replaced", async () => {
  const { database, failure, asked } = setup([new FakeSocket(welcome, "close")]);
  expect((await failure(() => database.countTables()))?.message).toBe(
    "The database ended the connection",
  );
  expect(asked).toHaveLength(1);
});

test("a failure says what was awaited when the time was over", async () => {
  const hanging = setup([], { timeoutMs: 20 });
  const connecting = await hanging.failure(() => hanging.database.countTables());
  expect(connecting?.message).toBe("No connection within 20 ms");
  for (const socket of [new FakeSocket("silence"), new FakeSocket(welcome, "silence")]) {
    const { database, failure } = setup([socket], { timeoutMs: 20 });
    const late = await failure(() => database.countTables());
    expect(late?.message).toBe("No complete answer of the database within 20 ms");
    expect(socket.destroyed).toBeGreaterThan(0);
  }
});

test("a connection is inside TLS unless the config says otherwise", async () => {
  const tlsOf = async (more: object) => {
    const { database, failure, asked } = setup([new FakeSocket(error("28P01"))], more);
    await failure(() => database.signIn(() => {}));
    return asked[0]!.tls;
  };
  expect(await tlsOf({ tls: "off" })).toBeUndefined();
  for (const tls of ["verify", undefined]) {
    const options = await tlsOf({ tlsCa: "ca", tlsServerName: "name", ...(tls && { tls }) });
    expect(options).toMatchObject({ ca: "ca", serverName: "name" });
    expect(options!.upgrade!.accept).toEqual(Buffer.from("S"));
    expect(options!.upgrade!.refusal(Buffer.from("N"))).toStartWith("The database does not offer");
    expect(options!.upgrade!.refusal(Buffer.from("HTTP"))).toContain("not answer as PostgreSQL");
  }
});

test("a connection is closed once it is not used for its time, and a delivery that begins keeps it", async () => {
  const socket = new FakeSocket(welcome, rows(), rows());
  const { database, within, asked } = setup([socket, new FakeSocket(welcome, rows())]);
  const timers = spyOn(globalThis, "setTimeout");
  const cleared = spyOn(globalThis, "clearTimeout");
  try {
    await within(() => database.countTables());
    const [close, ms] = timers.mock.calls.at(-1)!;
    expect(ms).toBe(DATABASE_IDLE_MS_MAX);
    const timer = timers.mock.results.at(-1)!.value;
    cleared.mockClear();
    await within(() => database.countTables());
    expect(cleared.mock.calls[0]![0] === timer).toBe(true);
    expect([asked.length, socket.written.length]).toEqual([1, 3]);
    (close as () => void)();
    expect(socket.written.at(-1)).toEqual(terminate);
    await within(() => database.countTables());
    expect(asked).toHaveLength(2);
    database.close();
  } finally {
    timers.mockRestore();
    cleared.mockRestore();
  }
});

test("a delivery that is stopped asks the database nothing", async () => {
  const { database, asked } = setup([]);
  const stopped = AbortSignal.abort(new Error("Stopped"));
  const counted = database.within(stopped, () => database.countTables());
  await expect(counted).rejects.toThrow("Stopped");
  expect(asked).toEqual([]);
});
