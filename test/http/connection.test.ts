import { describe, expect, test } from "bun:test";
import { BufferedBytes } from "../../src/http/buffered-bytes.ts";
import { HttpConnection } from "../../src/http/connection.ts";
import type { HttpExchange } from "../../src/http/exchange.ts";
import { HttpResponse } from "../../src/http/response.ts";
import type { ServerState } from "../../src/http/server-state.ts";
import {
  HTTP_BODY_BYTES_MAX,
  HTTP_BODY_BYTES_PER_SECOND_MIN,
  HTTP_HEAD_BYTES_MAX,
  HTTP_WAITING_BYTES_MAX,
  HTTP_WAITING_BYTES_PER_NETWORK_MAX,
} from "../../src/settings/limits.ts";

/** Memory and state of connections, tested without a network. */

const ok = new HttpResponse(200, {});
const get = (target: string, headers = "") => `GET ${target} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;
const LARGE_BODY_BYTES = 2 << 20;
const post = (target: string, framing: string, body = "") =>
  `POST ${target} HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n${body}`;
const LONG = `X: ${"x".repeat(200_000)}\r\n`;

/** Connections of one server, whose clients read everything or nothing. */
function setUp({
  handle,
  reads = true,
  network,
}: {
  handle?: ServerState<HttpConnection>["handle"];
  reads?: boolean;
  /** Network of all clients; undefined for connections of a trusted proxy. */
  network?: string;
} = {}) {
  const asked: HttpConnection[] = [];
  const shared: ServerState<HttpConnection> = {
    handle: handle ?? ((exchange) => exchange.respond(ok)),
    refusal(status, request) {
      const head = request === undefined ? "" : ` ${request.path} ${request.header("origin")}`;
      return new HttpResponse(status, {}, `refused with ${status}${head}`);
    },
    onFirstRequest: (connection) => asked.push(connection),
    bodyBytesMax: (path) => (path === "/large" ? LARGE_BODY_BYTES : HTTP_BODY_BYTES_MAX),
    networkOf: () => network,
    seconds: 0,
    date: "",
    isStopping: false,
    buffered: new BufferedBytes(),
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
    expect(shared.buffered.all).toBe(connections.length * bytes);
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
    expect(shared.buffered.all).toBe(200_000);
    connection.receive(Buffer.from("\r\n\r\n"));
    expect(shared.buffered.all).toBe(0);
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
    expect(shared.buffered.all).toBeLessThanOrEqual(HTTP_WAITING_BYTES_MAX);
    expect(shared.buffered.all).toBeGreaterThan(0.9 * HTTP_WAITING_BYTES_MAX);
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
    expect(shared.buffered.all).toBeLessThanOrEqual(HTTP_WAITING_BYTES_MAX);
    const cut = all.filter(({ isCut }) => isCut);
    expect(cut.length).toBeGreaterThan(count / 4);
    expect(cut.length).toBeLessThan(count / 2);
  });
});

const statuses = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, it]) => Number(it));

describe("the next request", () => {
  test.each(["\r\n", "\r\n\r\n", "\r\n\r\n\r\n"])(
    "is read after %j, wherever the bytes are split",
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
        told.push({
          method,
          path,
          query,
          targetBytes,
          peer,
          by: exchange.header("x-forwarded-for"),
        });
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
      { method: "PUT", path: "/", query: "", targetBytes: 0, peer, by: undefined },
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
    expect(shared.buffered.all).toBe(0);
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

describe("the body of a request", () => {
  const json = JSON.stringify({ text: "0\r\n\r\nGET / HTTP/1.1\r\n", number: 1 });
  const chunks = (size: number) => {
    const parts = json.match(new RegExp(`[^]{1,${size}}`, "g"))!;
    return parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join("");
  };

  test.each([
    ["with Content-Length", post("/a", `Content-Length: ${json.length}`, json)],
    ["in one chunk", post("/a", "Transfer-Encoding: chunked", `${chunks(100)}0\r\n\r\n`)],
    ["in small chunks", post("/a", "Transfer-Encoding: chunked", `${chunks(3)}0\r\n\r\n`)],
    ["with trailers", post("/a", "Transfer-Encoding: chunked", `${chunks(7)}0\r\nA: b\r\n\r\n`)],
  ])(
    "reaches the handler %s, wherever it is cut, and the request after it has none",
    (_, first) => {
      const text = first + get("/b");
      for (let cut = 1; cut < text.length; cut++) {
        const bodies: string[] = [];
        const { open } = setUp({
          handle(exchange) {
            bodies.push(
              `${exchange.path} ${exchange.body()}`,
              `${exchange.path} ${exchange.body()}`,
            );
            exchange.respond(ok);
          },
        });
        const { connection } = open();
        connection.receive(Buffer.from(text.slice(0, cut)));
        connection.receive(Buffer.from(text.slice(cut)));
        const expected = [`/a ${json}`, `/a ${json}`, "/b ", "/b "];
        expect({ cut, bodies }).toEqual({ cut, bodies: expected });
      }
    },
  );

  test("of one request is not changed by bytes that another connection receives meanwhile", () => {
    const bodies: string[] = [];
    const { open } = setUp({
      handle(exchange) {
        bodies.push(exchange.body().toString());
        exchange.respond(ok);
      },
    });
    const framing = "Transfer-Encoding: chunked";
    const [one, two] = [open().connection, open().connection];
    const first = post("/a", framing, "3\r\none\r\n0\r\n\r\n");
    const second = post("/longer/path", `${framing}\r\nX: y`, "3\r\ntwo\r\n0\r\n\r\n");
    one.receive(Buffer.from(first.slice(0, -3)));
    two.receive(Buffer.from(second.slice(0, -3)));
    one.receive(Buffer.from(first.slice(-3)));
    two.receive(Buffer.from(second.slice(-3)));
    expect(bodies).toEqual(["one", "two"]);
  });

  test.each([
    ["with a length", post("/", "Content-Length: 4", "kept")],
    ["in chunks", post("/", "Transfer-Encoding: chunked", "1\r\nk\r\n3\r\nept\r\n0\r\n\r\n")],
  ])("%s is not changed by what its connection receives later", (_, request) => {
    for (const size of [1, 7, request.length - 1, 10 * request.length]) {
      const bodies: Buffer[] = [];
      const { open } = setUp({
        handle(exchange) {
          bodies.push(exchange.body());
          exchange.respond(ok);
        },
      });
      const { connection } = open();
      const later = post("/", "Content-Length: 2000", "y".repeat(2_000));
      const bytes = Buffer.from(request + request + later);
      for (let at = 0; at < bytes.length; at += size) {
        connection.receive(Buffer.from(bytes.subarray(at, at + size)));
      }
      expect(bodies.map(String)).toEqual(["kept", "kept", "y".repeat(2_000)]);
    }
  });

  test("may be as large as its path allows, and no larger", () => {
    for (const [path, most] of [
      ["/", HTTP_BODY_BYTES_MAX],
      ["/large", LARGE_BODY_BYTES],
    ] as const) {
      const sent = [`Content-Length: ${most}`, `Content-Length: ${most + 1}`].map((framing) => {
        const { connection, seen } = setUp().open();
        connection.receive(Buffer.from(post(path, framing, "x".repeat(most))));
        return statuses(seen.text);
      });
      expect({ path, sent }).toEqual({ path, sent: [[200], [413]] });
    }
  });

  test("takes no more memory than its Content-Length, in whatever parts it comes", () => {
    const { shared, open } = setUp();
    const { connection, seen } = open();
    const head = post("/large", `Content-Length: ${LARGE_BODY_BYTES}`);
    const whole = Buffer.from(head + "x".repeat(LARGE_BODY_BYTES));
    let most = 0;
    for (let at = 0; at < whole.length; at += 100_000) {
      connection.receive(Buffer.from(whole.subarray(at, at + 100_000)));
      most = Math.max(most, shared.buffered.all);
    }
    expect(most).toBe(whole.length);
    expect(statuses(seen.text)).toEqual([200]);
    expect(shared.buffered.all).toBe(0);
  });

  /** Opens connections that send the first part of a large body, until the bound is passed. */
  function fill(network: string | undefined, bytesMax: number) {
    const { shared, open } = setUp(network === undefined ? {} : { network });
    const framing = `Origin: page\r\nContent-Length: ${LARGE_BODY_BYTES}`;
    const part = post("/large", framing, "x".repeat(1 << 20));
    const seen = Array.from({ length: Math.ceil(bytesMax / part.length) + 8 }, () => {
      const { connection, seen } = open();
      connection.receive(Buffer.from(part));
      return seen;
    });
    const refused = seen.filter(({ text }) => text.startsWith("HTTP/1.1 503 "));
    return { shared, open, refused, part };
  }

  test("of one network is refused beyond the network's share, and others are taken", () => {
    const { shared, open, refused, part } = fill("a", HTTP_WAITING_BYTES_PER_NETWORK_MAX);
    expect(shared.buffered.all).toBeLessThanOrEqual(HTTP_WAITING_BYTES_PER_NETWORK_MAX);
    expect(shared.buffered.all).toBeGreaterThan(
      HTTP_WAITING_BYTES_PER_NETWORK_MAX - 2 * part.length,
    );
    expect(refused.length).toBeGreaterThan(7);
    shared.networkOf = () => "b";
    const { connection, seen } = open();
    const body = "x".repeat(LARGE_BODY_BYTES);
    const text = post("/large", `Content-Length: ${body.length}`, body);
    connection.receive(Buffer.from(text.slice(0, 1 << 20)));
    connection.receive(Buffer.from(text.slice(1 << 20)));
    expect(statuses(seen.text)).toEqual([200]);
  });

  test("that is refused leaves the path and the origin of its request to the response", () => {
    const told = (...pieces: string[]) => {
      const { open } = setUp();
      const [first, other] = [open(), open()];
      for (const piece of pieces) {
        // The head of another connection's request is parsed in between.
        other.connection.receive(Buffer.from(get("/other", "Origin: other\r\n")));
        first.connection.receive(Buffer.from(piece));
      }
      return first.seen.text.slice(first.seen.text.indexOf("refused with"));
    };
    const chunked = post("/large", "Origin: page\r\nTransfer-Encoding: chunked");
    const size = (LARGE_BODY_BYTES + 1).toString(16);
    expect(told(chunked, `${size}\r\n`)).toBe("refused with 413 /large page");
    expect(told(chunked, "none\r\n")).toBe("refused with 400 /large page");
    const long = `Origin: page\r\nContent-Length: ${LARGE_BODY_BYTES + 1}`;
    expect(told(get("/"), post("/large", long))).toBe("refused with 413 /large page");
    expect(told("GET / HTTP/1.1\r\nOrigin: page\r\n\r\n")).toBe("refused with 400");
    const { refused } = fill(undefined, HTTP_WAITING_BYTES_MAX);
    expect(refused[0]!.text).toEndWith("refused with 503 /large page");
  });

  test("of all networks leaves memory for small requests that come in parts", () => {
    const { shared, open, refused } = fill(undefined, HTTP_WAITING_BYTES_MAX);
    expect(shared.buffered.all).toBeLessThanOrEqual(0.75 * HTTP_WAITING_BYTES_MAX);
    expect(refused.length).toBeGreaterThan(10);
    const { connection, seen } = open();
    const text = get("/", LONG);
    connection.receive(Buffer.from(text.slice(0, 100_000)));
    connection.receive(Buffer.from(text.slice(100_000)));
    expect(statuses(seen.text)).toEqual([200]);
  });

  test("that is refused may take as long, for a client that reads after it has sent", () => {
    const { shared, open } = setUp();
    const { connection, seen } = open();
    const framing = `Content-Length: ${3 * LARGE_BODY_BYTES}`;
    connection.receive(Buffer.from(post("/large", framing)));
    expect([statuses(seen.text), seen.isClosed]).toEqual([[413], true]);
    connection.receive(Buffer.alloc(5 * HTTP_BODY_BYTES_PER_SECOND_MIN));
    shared.seconds = 15;
    expect(connection.expire(10)).toBe(false);
    shared.seconds = 16;
    expect(connection.expire(10)).toBe(true);
  });

  test("may take longer than a client may be silent while its bytes arrive, and ends a connection that drips", () => {
    const { shared, open } = setUp();
    const { connection } = open();
    shared.seconds = 9;
    const half = LARGE_BODY_BYTES / 2;
    connection.receive(
      Buffer.from(post("/large", `Content-Length: ${LARGE_BODY_BYTES}`, "x".repeat(half))),
    );
    shared.seconds += 10 + Math.floor(half / HTTP_BODY_BYTES_PER_SECOND_MIN);
    expect(connection.expire(10)).toBe(false);
    shared.seconds += 2;
    expect(connection.expire(10)).toBe(true);

    const dripping = open().connection;
    dripping.receive(Buffer.from(post("/large", "Content-Length: 1000", "x")));
    for (let second = 0; second < 10; second++) {
      shared.seconds++;
      dripping.receive(Buffer.from("x"));
      expect(dripping.expire(10)).toBe(false);
    }
    shared.seconds++;
    expect(dripping.expire(10)).toBe(true);
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

  test("leaves a client that stays after our side is closed what it was sent", () => {
    const { shared, open } = setUp();
    const { connection, seen } = open();
    connection.stop();
    shared.seconds = 61;
    expect(connection.expire(60)).toBe(true);
    expect(seen).toMatchObject({ isEnded: true, isCut: false });
  });

  test("comes after a refused body as soon as after other requests, however many bytes of it came", () => {
    const { shared, open } = setUp();
    const { connection, seen } = open();
    const chunk = `${(1 << 20).toString(16)}\r\n${"x".repeat(1 << 20)}\r\n`;
    connection.receive(Buffer.from(post("/large", "Transfer-Encoding: chunked", chunk)));
    connection.receive(Buffer.from("none\r\n"));
    expect(statuses(seen.text)).toEqual([400]);
    shared.seconds = 61;
    expect(connection.expire(60)).toBe(true);
    expect(seen.isEnded).toBe(true);
  });

  test("leaves no buffered bytes counted", () => {
    const { shared, open } = setUp();
    const { connection } = open();
    connection.receive(Buffer.from(get("/").slice(0, 20)));
    expect(shared.buffered.all).toBe(20);
    connection.closed();
    expect(shared.buffered.all).toBe(0);
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
