import { describe, expect, test } from "bun:test";
import { Answer } from "../../src/http/answer.ts";
import { Connection, type Exchange, type Shared } from "../../src/http/connection.ts";
import { HTTP_WAITING_BYTES_MAX } from "../../src/limits.ts";

/** What connections hold on to, without a network. */

const ok = new Answer(200, {});
const get = (target: string, headers = "") => `GET ${target} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;
const LONG = `X: ${"x".repeat(200_000)}\r\n`;

/** Connections of one server, whose clients read everything or nothing. */
function setUp({ handle, reads = true }: { handle?: Shared["handle"]; reads?: boolean }) {
  const shared: Shared = {
    handle: handle ?? ((exchange) => exchange.answer(ok)),
    refused: (status) => new Answer(status, {}),
    asked() {},
    ...{ seconds: 0, date: "", stopping: false, waitingBytes: 0 },
  };
  const open = () => {
    const seen = { text: "", isClosed: false, isCut: false };
    const socket = {
      ...{ remoteAddress: "192.0.2.1", pause() {}, resume() {}, end() {} },
      write(bytes: Buffer) {
        if (reads) seen.text += bytes.toString("latin1");
        return reads ? bytes.length : 0;
      },
      shutdown() {
        seen.isClosed = true;
      },
      terminate() {
        seen.isCut = true;
      },
    } as unknown as ConstructorParameters<typeof Connection>[0];
    return { connection: new Connection(socket, shared), seen };
  };
  return { shared, open };
}

describe("a connection that waits", () => {
  test.each([
    { what: "nothing", rest: "", bytes: 0 },
    { what: "the first byte of a request", rest: "G", bytes: 1 },
    { what: "a small part of one", rest: get("/").slice(0, 20), bytes: 20 },
  ])("holds $what, and not the large request before it", async ({ rest, bytes }) => {
    const { shared, open } = setUp({});
    const connections = Array.from({ length: 20 }, () => open().connection);
    const chunks = connections.map((connection) => {
      const chunk = Buffer.from(get("/", LONG) + rest);
      connection.receive(chunk);
      return new WeakRef(chunk);
    });
    await Bun.sleep(1);
    Bun.gc(true);
    // The collector may take an old word on the stack for one that is alive.
    expect(chunks.filter((chunk) => chunk.deref() !== undefined).length).toBeLessThan(3);
    expect(shared.waitingBytes).toBe(connections.length * bytes);
  });

  test("takes the request whose first bytes it holds", () => {
    const targets: string[] = [];
    const { open } = setUp({
      handle(exchange) {
        targets.push(exchange.path + exchange.query);
        exchange.answer(ok);
      },
    });
    const { connection } = open();
    const next = get("/next", "Y: z\r\n");
    for (let cut = 1; cut < next.length; cut++) {
      connection.receive(Buffer.from(get("/", LONG) + next.slice(0, cut)));
      connection.receive(Buffer.from(next.slice(cut)));
    }
    expect(targets).toEqual(Array.from({ length: next.length - 1 }, () => ["/", "/next"]).flat());
  });

  test("holds nothing of a long target", () => {
    const { open } = setUp({});
    const { connection } = open();
    connection.receive(Buffer.from(get(`/${"p".repeat(50_000)}?${"q".repeat(50_000)}`)));
    expect(connection.path + connection.query).toBe("");
  });

  test("counts the room that its buffer has grown to", () => {
    const { shared, open } = setUp({});
    const { connection } = open();
    connection.receive(Buffer.from(get("/", LONG).slice(0, 100_000)));
    connection.receive(Buffer.from("x"));
    expect(shared.waitingBytes).toBe(200_000);
    connection.receive(Buffer.from("\r\n\r\n"));
    expect(shared.waitingBytes).toBe(0);
  });
});

describe("whole requests ahead of their answers", () => {
  const ahead = Buffer.from(get("/?n1").repeat(4_000));
  const count = Math.ceil((1.5 * HTTP_WAITING_BYTES_MAX) / ahead.length);

  test("hold a bounded memory, and the answer that is owed is given", () => {
    const owed: Exchange[] = [];
    const { shared, open } = setUp({ handle: (exchange) => void owed.push(exchange) });
    const all = Array.from({ length: count }, () => {
      const { connection, seen } = open();
      connection.receive(Buffer.from(ahead));
      return seen;
    });
    expect(shared.waitingBytes).toBeLessThanOrEqual(HTTP_WAITING_BYTES_MAX);
    expect(shared.waitingBytes).toBeGreaterThan(0.9 * HTTP_WAITING_BYTES_MAX);
    for (const exchange of owed.splice(0)) exchange.answer(ok);
    const ended = all.filter(({ isClosed }) => isClosed);
    expect(ended.length).toBeGreaterThan(count / 4);
    expect(ended.length).toBeLessThan(count / 2);
    for (const { text, isCut } of all) {
      expect(text).toStartWith("HTTP/1.1 200 OK\r\n");
      expect(isCut).toBe(false);
    }
    for (const { text } of ended) expect(text).toContain("\r\nConnection: close\r\n");
  });

  test("hold a bounded memory where the client reads no answer", () => {
    const { shared, open } = setUp({ reads: false });
    const all = Array.from({ length: count }, () => {
      const { connection, seen } = open();
      connection.receive(Buffer.from(ahead));
      return seen;
    });
    expect(shared.waitingBytes).toBeLessThanOrEqual(HTTP_WAITING_BYTES_MAX);
    const cut = all.filter(({ isCut }) => isCut);
    expect(cut.length).toBeGreaterThan(count / 4);
    expect(cut.length).toBeLessThan(count / 2);
  });
});
