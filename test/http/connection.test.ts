import { describe, expect, test } from "bun:test";
import { HttpConnection } from "../../src/http/connection.ts";
import type { HttpExchange } from "../../src/http/exchange.ts";
import { HttpResponse } from "../../src/http/response.ts";
import type { ServerState } from "../../src/http/server-state.ts";
import { HTTP_HEAD_BYTES_MAX, HTTP_WAITING_BYTES_MAX } from "../../src/settings/limits.ts";

/** Memory and state of connections, tested without a network. */

const ok = new HttpResponse(200, {});
const get = (target: string, headers = "") => `GET ${target} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;
const LONG = `X: ${"x".repeat(200_000)}\r\n`;

/** Connections of one server, whose clients read everything or nothing. */
function setUp({
  handle,
  reads = true,
}: {
  handle?: ServerState<HttpConnection>["handle"];
  reads?: boolean;
} = {}) {
  const asked: HttpConnection[] = [];
  const shared: ServerState<HttpConnection> = {
    handle: handle ?? ((exchange) => exchange.respond(ok)),
    refusal: (status) => new HttpResponse(status, {}, `refused with ${status}`),
    onFirstRequest: (connection) => asked.push(connection),
    ...{ seconds: 0, date: "", isStopping: false, bufferedBytes: 0 },
  };
  const open = () => {
    const seen = {
      ...{ text: "", isClosed: false, isCut: false, isEnded: false, isPaused: false },
      /** Bytes of each write that the client accepts; -1 is a broken connection. */
      room: reads ? Number.POSITIVE_INFINITY : 0,
    };
    const socket = {
      remoteAddress: "192.0.2.1",
      pause() {
        seen.isPaused = true;
      },
      resume() {
        seen.isPaused = false;
      },
      end() {
        seen.isEnded = true;
      },
      write(bytes: Buffer) {
        const taken = Math.min(seen.room, bytes.length);
        seen.text += bytes.toString("latin1", 0, Math.max(0, taken));
        return taken;
      },
      shutdown() {
        seen.isClosed = true;
      },
      terminate() {
        seen.isCut = true;
      },
    } as unknown as ConstructorParameters<typeof HttpConnection>[0];
    return { connection: new HttpConnection(socket, shared), seen };
  };
  return { shared, open, asked };
}

describe("a connection that waits for a request", () => {
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
    expect(shared.bufferedBytes).toBe(connections.length * bytes);
  });

  test("handles the request whose first bytes it holds", () => {
    const targets: string[] = [];
    const { open } = setUp({
      handle(exchange) {
        targets.push(exchange.path + exchange.query);
        exchange.respond(ok);
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

  test("keeps no text of a long target", () => {
    const { open } = setUp({});
    const { connection } = open();
    connection.receive(Buffer.from(get(`/${"p".repeat(50_000)}?${"q".repeat(50_000)}`)));
    expect(connection.path + connection.query).toBe("");
  });

  test("counts the capacity of its buffer", () => {
    const { shared, open } = setUp({});
    const { connection } = open();
    connection.receive(Buffer.from(get("/", LONG).slice(0, 100_000)));
    connection.receive(Buffer.from("x"));
    expect(shared.bufferedBytes).toBe(200_000);
    connection.receive(Buffer.from("\r\n\r\n"));
    expect(shared.bufferedBytes).toBe(0);
  });
});

describe("pipelined requests", () => {
  const ahead = Buffer.from(get("/?n1").repeat(4_000));
  const count = Math.ceil((1.5 * HTTP_WAITING_BYTES_MAX) / ahead.length);

  test("use bounded memory, and the response that is owed is sent", () => {
    const owed: HttpExchange[] = [];
    const { shared, open } = setUp({ handle: (exchange) => void owed.push(exchange) });
    const all = Array.from({ length: count }, () => {
      const { connection, seen } = open();
      connection.receive(Buffer.from(ahead));
      return seen;
    });
    expect(shared.bufferedBytes).toBeLessThanOrEqual(HTTP_WAITING_BYTES_MAX);
    expect(shared.bufferedBytes).toBeGreaterThan(0.9 * HTTP_WAITING_BYTES_MAX);
    for (const exchange of owed.splice(0)) exchange.respond(ok);
    const ended = all.filter(({ isClosed }) => isClosed);
    expect(ended.length).toBeGreaterThan(count / 4);
    expect(ended.length).toBeLessThan(count / 2);
    for (const { text, isCut } of all) {
      expect(text).toStartWith("HTTP/1.1 200 OK\r\n");
      expect(isCut).toBe(false);
    }
    for (const { text } of ended) expect(text).toContain("\r\nConnection: close\r\n");
  });

  test("use bounded memory while the client reads no response", () => {
    const { shared, open } = setUp({ reads: false });
    const all = Array.from({ length: count }, () => {
      const { connection, seen } = open();
      connection.receive(Buffer.from(ahead));
      return seen;
    });
    expect(shared.bufferedBytes).toBeLessThanOrEqual(HTTP_WAITING_BYTES_MAX);
    const cut = all.filter(({ isCut }) => isCut);
    expect(cut.length).toBeGreaterThan(count / 4);
    expect(cut.length).toBeLessThan(count / 2);
  });
});

const statuses = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, it]) => Number(it));

describe("the next request", () => {
  test.each(["\r\n", "\r\n\r\n", "\r\n\r\n\r\n"])(
    "comes behind %j, wherever it is cut",
    (lines) => {
      const text = lines + get("/?n1");
      for (let cut = 1; cut < text.length; cut++) {
        const { connection, seen } = setUp().open();
        connection.receive(Buffer.from(text.slice(0, cut)));
        connection.receive(Buffer.from(text.slice(cut)));
        expect({ cut, statuses: statuses(seen.text) }).toEqual({ cut, statuses: [200] });
      }
    },
  );

  test.each(["\n", "\n\n", "x\n", "G\n", "\r\r", "\r\nx", "\0"])(
    "cannot begin with %j",
    (start) => {
      const { connection, seen } = setUp().open();
      connection.receive(Buffer.from(start));
      expect(statuses(seen.text)).toEqual([400]);
    },
  );

  test("shares no value with the request before it", () => {
    const told: object[] = [];
    const { open, asked } = setUp({
      handle(exchange) {
        const { method, path, query, targetBytes, peer } = exchange;
        told.push({ method, path, query, targetBytes, peer, by: exchange.forwardedFor() });
        exchange.respond(ok);
      },
    });
    const { connection } = open();
    const forwarded = "X-Forwarded-For: a, b\r\nX-Forwarded-For: c\r\n";
    connection.receive(
      Buffer.from(get("/p?q=1", forwarded) + get("http://a").replace("GET", "PUT")),
    );
    const peer = "192.0.2.1";
    expect(told).toEqual([
      { method: "GET", path: "/p", query: "q=1", targetBytes: 6, peer, by: "a, b,c" },
      { method: "PUT", path: "/", query: "", targetBytes: 0, peer, by: "" },
    ]);
    expect(asked).toEqual([connection]);
    expect(connection.requests).toBe(2);
  });

  test("is not handled after a refused one", () => {
    const { connection, seen } = setUp().open();
    connection.receive(Buffer.from(get("/").replace("GET", "HEAD")));
    connection.receive(Buffer.from(`GET /\r\n\r\n${get("/?n1")}`));
    connection.receive(Buffer.from(get("/?n2")));
    expect(statuses(seen.text)).toEqual([200, 505]);
    expect(seen.text).toEndWith("refused with 505");
    expect(seen.isClosed).toBe(true);
  });

  test("is handled after a response that the client read in parts", () => {
    const { connection, seen } = setUp().open();
    seen.room = 10;
    connection.receive(Buffer.from(get("/") + get("/")));
    expect(seen.text).toBe("HTTP/1.1 2");
    connection.drained();
    expect(seen.text).toBe("HTTP/1.1 200 OK\r\nCon");
    seen.room = Number.POSITIVE_INFINITY;
    connection.drained();
    connection.drained();
    expect(statuses(seen.text)).toEqual([200, 200]);
    expect(seen.isClosed).toBe(false);
  });

  test("is not handled when the client is gone", () => {
    const { open, asked } = setUp();
    const { connection, seen } = open();
    seen.room = -1;
    connection.receive(Buffer.from(get("/") + get("/")));
    expect(seen.isClosed).toBe(true);
    expect(connection.requests).toBe(1);
    expect(asked.length).toBe(1);
  });

  test("stays in the network's buffers while the client has sent far ahead", () => {
    const owed: HttpExchange[] = [];
    const { shared, open } = setUp({ handle: (exchange) => void owed.push(exchange) });
    const { connection, seen } = open();
    connection.receive(Buffer.from(get("/").repeat(20_000)));
    expect(seen.isPaused).toBe(true);
    while (owed.length > 0) owed.pop()!.respond(ok);
    expect(seen.isPaused).toBe(false);
    expect(statuses(seen.text).length).toBe(20_000);
    expect(shared.bufferedBytes).toBe(0);
  });

  test("is the last one when the server stops, or the client asks for that", () => {
    for (const last of ["server", "client"]) {
      const { shared, open } = setUp();
      const { connection, seen } = open();
      shared.isStopping = last === "server";
      const headers = last === "client" ? "Connection: close\r\n" : "";
      connection.receive(Buffer.from(get("/", headers) + get("/")));
      expect(statuses(seen.text)).toEqual([200]);
      expect(seen.text).toContain("\r\nConnection: close\r\n");
      expect(seen.isClosed).toBe(true);
    }
  });
});

describe("the end of a connection", () => {
  test("comes when the client has been silent for too long since the last response", () => {
    const { shared, open } = setUp();
    const { connection, seen } = open();
    expect(connection.expire(60)).toBe(false);
    shared.seconds = 50;
    connection.receive(Buffer.from(get("/")));
    shared.seconds = 110;
    expect(connection.expire(60)).toBe(false);
    expect(seen.isEnded).toBe(false);
    shared.seconds = 111;
    expect(connection.expire(60)).toBe(true);
    expect(seen).toMatchObject({ isEnded: true, isCut: false });
  });

  test("terminates a client that does not read its response", () => {
    const { shared, open } = setUp({ reads: false });
    const { connection, seen } = open();
    connection.receive(Buffer.from(get("/")));
    shared.seconds = 61;
    expect(connection.expire(60)).toBe(true);
    expect(seen).toMatchObject({ isEnded: false, isCut: true });
  });

  test("never comes while a response is owed", () => {
    const owed: HttpExchange[] = [];
    const { shared, open } = setUp({ handle: (exchange) => void owed.push(exchange) });
    const { connection, seen } = open();
    connection.receive(Buffer.from(get("/")));
    shared.seconds = 1_000;
    expect(connection.isBusy()).toBe(true);
    expect(connection.expire(60)).toBe(false);
    connection.stop();
    connection.ended();
    expect(seen).toMatchObject({ isEnded: false, isCut: false, isClosed: false });
    owed[0]!.respond(ok);
    expect(connection.isBusy()).toBe(false);
    expect(statuses(seen.text)).toEqual([200]);
    // The client had closed its side.
    expect(seen.isEnded).toBe(true);
    owed[0]!.respond(ok);
    expect(statuses(seen.text)).toEqual([200]);
  });

  test("closes our side first when the server stops, and the whole when the client closes too", () => {
    const { connection, seen } = setUp().open();
    connection.stop();
    expect(seen).toMatchObject({ isClosed: true, isEnded: false });
    connection.receive(Buffer.from(get("/")));
    expect(seen.text).toBe("");
    connection.ended();
    expect(seen.isEnded).toBe(true);
  });

  test("terminates a client that stays after our side is closed", () => {
    const { shared, open } = setUp();
    const { connection, seen } = open();
    connection.stop();
    shared.seconds = 61;
    expect(connection.expire(60)).toBe(true);
    expect(seen).toMatchObject({ isEnded: false, isCut: true });
  });

  test("leaves no buffered bytes counted", () => {
    const { shared, open } = setUp();
    const { connection } = open();
    connection.receive(Buffer.from(get("/").slice(0, 20)));
    expect(shared.bufferedBytes).toBe(20);
    connection.closed();
    expect(shared.bufferedBytes).toBe(0);
  });
});

test("100 Continue is sent to a client that waits for it, and not when the body has come", () => {
  const asking = "Expect: 100-continue\r\nContent-Length: 2\r\n";
  const { open } = setUp();
  const [waiting, ahead, long] = [open(), open(), open()];
  waiting.connection.receive(Buffer.from(get("/", asking)));
  expect(waiting.seen.text).toBe("HTTP/1.1 100 Continue\r\n\r\n");
  waiting.connection.receive(Buffer.from("ab"));
  expect(statuses(waiting.seen.text)).toEqual([100, 200]);
  ahead.connection.receive(Buffer.from(`${get("/", asking)}ab`));
  expect(statuses(ahead.seen.text)).toEqual([200]);
  long.connection.receive(Buffer.from(get("/", asking.replace("2", "200000"))));
  expect(statuses(long.seen.text)).toEqual([413]);
});

describe("an HTTP head", () => {
  test("is accepted up to the limit of bytes", () => {
    const rest = get("/", "X: \r\n").length;
    for (const [more, status] of [
      [0, 200],
      [1, 431],
    ] as const) {
      const text = get("/", `X: ${"x".repeat(HTTP_HEAD_BYTES_MAX - rest + more)}\r\n`);
      for (const cut of [text.length, text.length - 1, text.length - 5]) {
        const { connection, seen } = setUp().open();
        connection.receive(Buffer.from(text.slice(0, cut)));
        connection.receive(Buffer.from(text.slice(cut)));
        expect(statuses(seen.text)).toEqual([status]);
      }
    }
  });
});
