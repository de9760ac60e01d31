import { afterAll, beforeAll, expect, spyOn, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { InvariantError } from "../../src/assert.ts";
import type { HttpExchange } from "../../src/http/exchange.ts";
import { openListeningSocket } from "../../src/http/listening-socket.ts";
import { HttpResponse } from "../../src/http/response.ts";
import { type HttpServer, type HttpServerOptions, serveHttp } from "../../src/http/server.ts";
import {
  HTTP_BODY_BYTES_MAX,
  HTTP_HEAD_BYTES_MAX,
  HTTP_WAITING_BYTES_MAX,
  IDLE_CONNECTION_SECONDS_MAX,
} from "../../src/settings/limits.ts";
import { holds } from "../until.ts";

/**
 * Connections as clients make them: whole, in pieces, ahead of their answers, half closed, and
 * gone. `/later` is answered later, `/large` with 8 MB, everything else with its own query.
 */
const LARGE = Buffer.alloc(8 << 20, "0123456789abcdef");
const owed: HttpExchange[] = [];

function handle(exchange: HttpExchange): void {
  const answer = new HttpResponse(200, {}, exchange.path === "/large" ? LARGE : exchange.query);
  if (exchange.path === "/later") setTimeout(() => exchange.respond(answer), 1);
  else if (exchange.path === "/never") owed.push(exchange);
  else exchange.respond(answer);
}

const open = (
  options: Pick<
    HttpServerOptions,
    "connectionsMax" | "connectionsPerNetworkMax" | "networkOf"
  > = {},
) =>
  serveHttp({
    ...{ socket: openListeningSocket({ host: "127.0.0.1", port: 0 }), handle, ...options },
    refusal: (status) => new HttpResponse(status, {}),
  });

let server: HttpServer;
/**
 * Seconds until a client that reads nothing of its answer is let go; all other tests pass
 * meanwhile.
 */
let deafFor: Promise<number>;
beforeAll(() => {
  server = open();
  deafFor = secondsOfDeafClient();
});
afterAll(() => server.stop());

const get = (target: string, headers = "") => `GET ${target} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;
const CLOSE = "Connection: close\r\n";

const dial = (options: { allowHalfOpen?: boolean; port?: number } = {}) =>
  connect({ port: server.port, host: "127.0.0.1", noDelay: true, ...options });

/** Everything until the server closes. A reset fails the test: it may cost a client its answer. */
function readAll(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("error", reject);
    socket.on("end", () => resolve(text));
  });
}

const bodies = (text: string) =>
  [...text.matchAll(/\r\n\r\n([a-z]*\d+)/g)].map((match) => match[1]);
async function secondsOfDeafClient(): Promise<number> {
  const socket = dial();
  socket.pause();
  socket.write(get("/large"));
  const startedAt = performance.now();
  // Never, were it not let go: then the last test does not end.
  const closed = new Promise((resolve) => socket.once("error", resolve));
  // A write tells a client that it does not read that the connection is gone.
  const poke = setInterval(() => socket.write("x"), 500);
  await closed;
  clearInterval(poke);
  return (performance.now() - startedAt) / 1_000;
}

const numbers = (count: number) => Array.from({ length: count }, (_, i) => `n${i}`);

test("requests are handled the same wherever packets split them", async () => {
  const text = get("/?n0") + get("/later?n1", "X: y\r\n") + get("/?n2", CLOSE);
  await Promise.all(
    Array.from({ length: text.length - 1 }, async (_, cut) => {
      const socket = dial();
      const answers = readAll(socket);
      socket.write(text.slice(0, cut + 1));
      await Bun.sleep(10);
      socket.write(text.slice(cut + 1));
      expect(bodies(await answers)).toEqual(numbers(3));
    }),
  );
});

test("requests that come byte by byte are handled", async () => {
  const socket = dial();
  const answers = readAll(socket);
  for (const byte of get("/?n0") + get("/?n1", CLOSE)) {
    socket.write(byte);
    await Bun.sleep(1);
  }
  expect(bodies(await answers)).toEqual(numbers(2));
});

test("pipelined requests are answered in order", async () => {
  const socket = dial();
  const answers = readAll(socket);
  const targets = numbers(200).map((n, i) => (i % 2 ? `/later?${n}` : `/?${n}`));
  socket.write(targets.map((target, i) => get(target, i === 199 ? CLOSE : "")).join(""));
  expect(bodies(await answers)).toEqual(numbers(200));
});

test("a client that reads no responses is not read from, and misses no response", async () => {
  const count = 60_000;
  const socket = dial();
  socket.pause();
  // 4 MB of requests, 7 MB of answers.
  socket.write(
    numbers(count)
      .map((n) => get(`/?${n}`, "X: 0123456789\r\n"))
      .join(""),
  );
  socket.write(get("/?n60000", CLOSE));
  await Bun.sleep(500);
  const answers = readAll(socket);
  socket.resume();
  expect(bodies(await answers)).toEqual(numbers(count + 1));
}, 300_000);

test("requests after a slow one stay in the network's buffers", async () => {
  const socket = dial();
  const bytes = 64 << 20;
  socket.on("error", () => {});
  socket.write(get("/never"));
  socket.write(Buffer.alloc(bytes, get("/?n1")));
  await holds(1_000, () => expect(socket.writableLength).toBeGreaterThan(bytes / 2));
  socket.destroy();
  owed.at(-1)!.respond(new HttpResponse(200, {}));
});

test("a client that half-closes after its requests gets its responses", async () => {
  const socket = dial({ allowHalfOpen: true });
  const answers = readAll(socket);
  socket.end(
    numbers(50)
      .map((n) => get(`/later?${n}`))
      .join(""),
  );
  expect(bodies(await answers)).toEqual(numbers(50));
});

test("a client that half-closes gets immediate and later responses", async () => {
  const orders = ["later now later", "now now later", "later later now", "later now now later"];
  for (const order of orders.map((text) => text.split(" "))) {
    const socket = dial({ allowHalfOpen: true });
    const answers = readAll(socket);
    socket.end(order.map((when, i) => get(`/${when}?n${i}`)).join(""));
    expect(bodies(await answers)).toEqual(numbers(order.length));
  }
});

test("a response waits for a client that reads slowly", async () => {
  const socket = dial();
  socket.pause();
  socket.write(get("/large") + get("/?n1", CLOSE));
  await Bun.sleep(300);
  const answers = readAll(socket);
  socket.resume();
  const text = await answers;
  const start = text.indexOf("\r\n\r\n") + 4;
  expect(text.slice(start, start + LARGE.length)).toBe(LARGE.toString());
  expect(bodies(text.slice(start + LARGE.length))).toEqual(["n1"]);
});

const post = (target: string, headers: string, body = "") =>
  get(target, headers).replace("GET", "POST") + body;
const CHUNKED = "Transfer-Encoding: chunked\r\n";

test("a body is read and ignored, and the next request begins after it", async () => {
  // The content of the body looks like requests.
  const inner = get("/?n9");
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const texts = [
    post("/?n0", `Content-Length: ${inner.length}\r\n`, inner),
    post("/?n1", CHUNKED, `${chunk(inner)}${chunk("a")}0\r\n\r\n`),
    post("/later?n2", CHUNKED, `0A;ext="x"\r\n0123456789\r\n000\r\nTrailer: x\r\nY: z\r\n\r\n`),
    post("/?n3", `Content-Length: ${HTTP_BODY_BYTES_MAX}\r\n`, "\n".repeat(HTTP_BODY_BYTES_MAX)),
    `\r\n\r\n${get("/?n4", "Content-Length: 2\r\n")}ab\r\n`,
    get("/?n5", CLOSE),
  ];
  const whole = texts.join("");
  const cuts = Array.from({ length: 900 }, (_, cut) => cut + 1);
  for (const cut of [0, ...cuts, whole.length - 90, whole.length - 1]) {
    const socket = dial();
    const answers = readAll(socket);
    socket.write(whole.slice(0, cut));
    if (cut > 0) await new Promise(setImmediate);
    socket.write(whole.slice(cut));
    expect({ cut, answered: bodies(await answers) }).toEqual({ cut, answered: numbers(6) });
  }
}, 300_000);

test("a body that is too long or malformed is refused with a response that the client can read", async () => {
  const long = "x".repeat(3_000_000);
  for (const [text, status] of [
    [post("/?n0", "Content-Length: 65537\r\n", long), 413],
    [post("/?n0", CHUNKED, `10001\r\n${long}`), 413],
    [post("/?n0", CHUNKED, `8000\r\n${"x".repeat(0x8000)}\r\n8001\r\n${long}`), 413],
    [post("/?n0", CHUNKED, "1\r\nx\r\n".repeat(60_000)), 413],
    [post("/?n0", CHUNKED, "5\r\nhello0\r\n\r\n"), 400],
    [post("/?n0", CHUNKED, "5\nhello\r\n0\r\n\r\n"), 400],
    [post("/?n0", CHUNKED, "5 \r\nhello\r\n0\r\n\r\n"), 400],
    [post("/?n0", CHUNKED, "+5\r\nhello\r\n0\r\n\r\n"), 400],
    [post("/?n0", CHUNKED, "0x5\r\nhello\r\n0\r\n\r\n"), 400],
    [post("/?n0", CHUNKED, "000000005\r\nhello\r\n0\r\n\r\n"), 400],
    [post("/?n0", CHUNKED, `5;${"x".repeat(2_000)}`), 400],
    [post("/?n0", CHUNKED, "5;a\rb\r\nhello\r\n0\r\n\r\n"), 400],
    [post("/?n0", CHUNKED, "\r\n"), 400],
    [post("/?n0", CHUNKED, "0\r\nX: \0\r\n\r\n"), 400],
    [post("/?n0", CHUNKED, "0\r\n\n"), 400],
  ] as const) {
    const socket = dial();
    const answers = readAll(socket);
    socket.write(text);
    const answer = await answers;
    expect({ text: text.slice(0, 150), answer }).toMatchObject({
      answer: expect.stringContaining(`HTTP/1.1 ${status} `),
    });
    expect(answer).toContain("\r\nConnection: close\r\n");
    expect(answer.match(/HTTP\/1\.1 /g)?.length).toBe(1);
    socket.destroy();
  }
});

test("a client that expects 100 Continue gets it", async () => {
  const socket = dial();
  const asked = new Promise((resolve) => socket.once("data", (bytes) => resolve(`${bytes}`)));
  socket.write(post("/?n0", "Expect: 100-continue\r\nContent-Length: 2\r\n"));
  expect(await asked).toBe("HTTP/1.1 100 Continue\r\n\r\n");
  const answers = readAll(socket);
  socket.write(`ab${get("/?n1", CLOSE)}`);
  expect(bodies(await answers)).toEqual(numbers(2));
});

test("a line that ends with a bare LF is refused at once, wherever it is cut", async () => {
  for (const text of ["GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\nHost: a\n", "\nGET"]) {
    for (let cut = 0; cut < text.length; cut++) {
      const socket = dial();
      const answers = readAll(socket);
      socket.write(text.slice(0, cut));
      if (cut > 0) await Bun.sleep(1);
      socket.write(text.slice(cut));
      expect(await answers).toStartWith("HTTP/1.1 400 ");
    }
  }
});

test("a URL without a path is a request for /", async () => {
  const socket = dial();
  const answers = readAll(socket);
  socket.write(get("HTTP://a?n0") + get("http://a/?n1", CLOSE));
  expect(bodies(await answers)).toEqual(numbers(2));
});

test("an HTTP/1.0 connection closes after one response", async () => {
  const socket = dial();
  const answers = readAll(socket);
  socket.write(get("/?n0").replace("1.1", "1.0") + get("/?n1"));
  expect(bodies(await answers)).toEqual(["n0"]);
});

test("HEAD gets the head of GET, and the connection stays open", async () => {
  const socket = dial();
  const answers = readAll(socket);
  socket.write(get("/?n0").replace("GET", "HEAD") + get("/?n1", CLOSE));
  const text = await answers;
  expect(bodies(text)).toEqual(["n1"]);
  expect(text.match(/Content-Length: 2\r\n/g)?.length).toBe(2);
});

test("a response carries the Date of its second", async () => {
  const date = async () => {
    const answer = await fetch(`http://127.0.0.1:${server.port}/?n0`, { keepalive: false });
    return Date.parse(answer.headers.get("date")!);
  };
  const before = Date.now();
  const first = await date();
  expect(first).toBeLessThanOrEqual(Date.now());
  expect(first).toBeGreaterThan(before - 60_000);
  let later = first;
  while (later === first) {
    await Bun.sleep(50);
    later = await date();
  }
  expect(later).toBeGreaterThan(first);
});

test("a head of more than its limit is refused before it ends", async () => {
  const socket = dial();
  const answers = readAll(socket);
  socket.write(get("/", `X: ${"a".repeat(HTTP_HEAD_BYTES_MAX)}`).slice(0, -4));
  expect(await answers).toStartWith("HTTP/1.1 431 ");
});

test("partial heads use bounded memory, and complete ones are served meanwhile", async () => {
  const part = get("/", `X: ${"a".repeat(250_000)}`).slice(0, -4);
  const count = Math.ceil((1.2 * HTTP_WAITING_BYTES_MAX) / part.length);
  // Connections of one network would have a share of the memory only.
  const server = open({ networkOf: () => undefined });
  const dialIt = () => dial({ port: server.port });
  const sockets = Array.from({ length: count }, dialIt);
  let refused = 0;
  for (const socket of sockets) {
    socket.on("error", () => {});
    socket.on("data", (answer) => {
      refused += Number(answer.toString("latin1").startsWith("HTTP/1.1 503 "));
    });
    socket.write(part);
  }
  while (refused < count / 10) await Bun.sleep(10);
  expect((await fetch(`http://127.0.0.1:${server.port}/?n0`, { keepalive: false })).status).toBe(
    200,
  );
  expect(refused).toBeLessThan(count / 2);
  for (const socket of sockets) socket.destroy();
  // Bytes of closed connections are not counted any more.
  while (server.connections() > 0) await Bun.sleep(5);
  const later = dialIt();
  const answers = readAll(later);
  later.write(part);
  await Bun.sleep(50);
  later.write(`\r\n${CLOSE}\r\n`);
  expect(await answers).toStartWith("HTTP/1.1 200 ");
  await server.stop();
});

/** Connections to a server of few places, by what they have done. */
async function fill(options: Parameters<typeof open>[0]) {
  const full = open(options);
  const closed: string[] = [];
  const join = (name: string) => {
    const socket = dial({ port: full.port });
    socket.on("error", () => {});
    socket.on("close", () => closed.push(name));
    socket.resume();
    const ask = async (target: string) => {
      const answer = new Promise<string>((resolve) =>
        socket.once("data", (it) => resolve(`${it}`)),
      );
      socket.write(get(target));
      return bodies(await answer)[0];
    };
    return { socket, ask };
  };
  /** A connection whose answer is owed until the returned function is called. */
  const occupy = async (name: string) => {
    const count = owed.length;
    const { socket } = join(name);
    socket.write(get("/never"));
    while (owed.length === count) await Bun.sleep(1);
    const exchange = owed.at(-1)!;
    return { socket, free: () => exchange.respond(new HttpResponse(200, {})) };
  };
  /** Waits until at least as many connections are closed as named, which are then exactly these. */
  const expectClosed = async (...names: string[]) => {
    while (closed.length < names.length) await Bun.sleep(1);
    expect(closed).toEqual(names);
  };
  return { full, closed, join, occupy, expectClosed };
}

test("a full server evicts silent or longest-waiting connections, and none that is owed a response", async () => {
  const { full, join, occupy, expectClosed } = await fill({ connectionsMax: 5 });
  const busy = await occupy("busy");
  const silent = ["one", "two", "three", "four"].map((name) => join(name));
  while (full.connections() < 5) await Bun.sleep(1);
  const idle = join("idle");
  expect(await idle.ask("/?n0")).toBe("n0");
  const active = join("active");
  expect(await active.ask("/?n1")).toBe("n1");
  await expectClosed("one", "two");
  const next = join("next");
  expect(await next.ask("/?n2")).toBe("n2");
  // Most connections made a request: a silent client has time to begin.
  await expectClosed("one", "two", "idle");
  for (const { socket } of [busy, ...silent, active, next]) socket.destroy();
  busy.free();
  await full.stop();
});

test("new connections wait while responses are owed on all, and are accepted once there is room", async () => {
  const { full, closed, join, occupy } = await fill({ connectionsMax: 2 });
  const owing = [await occupy("one"), await occupy("two")];
  const late = join("late");
  const answer = late.ask("/?n0");
  await holds(100, () => expect(full.connections()).toBe(2));
  for (const { free } of owing) free();
  expect(await answer).toBe("n0");
  while (closed.length === 0) await Bun.sleep(1);
  expect(closed).toEqual(["one"]);
  for (const { socket } of [...owing, late]) socket.destroy();
  await full.stop();
});

test("a network at its bound evicts its own connections", async () => {
  const { full, closed, join, occupy, expectClosed } = await fill({ connectionsPerNetworkMax: 2 });
  const idle = join("idle");
  await idle.ask("/?n0");
  const busy = await occupy("busy");
  const next = await occupy("next");
  await expectClosed("idle");
  // An answer is owed on both: a third connection is not taken.
  const third = join("third");
  while (!closed.includes("third")) await Bun.sleep(1);
  for (const { socket, free } of [busy, next]) {
    free();
    socket.destroy();
  }
  third.socket.destroy();
  await full.stop();
});

test("a crowd that reconnects as soon as it is refused keeps no client from its response", async () => {
  const crowded = open({ connectionsMax: 100, connectionsPerNetworkMax: 50 });
  const crowd = Bun.spawn([process.execPath, `${import.meta.dir}/crowd.ts`, `${crowded.port}`], {
    stdout: "pipe",
  });
  try {
    await crowd.stdout.getReader().read();
    for (let n = 0; n < 20; n++) {
      // In the server's event loop, so that the request follows its connection within one turn. A
      // thread of its own may lose the processor between them for as long as 50 clients connect.
      const socket = dial({ port: crowded.port });
      const answers = readAll(socket);
      socket.write(get(`/?n${n}`, CLOSE));
      expect(bodies(await answers)).toEqual([`n${n}`]);
    }
    expect(crowded.connections()).toBeLessThanOrEqual(50);
  } finally {
    crowd.kill();
    await crowd.exited;
    await crowded.stop();
  }
}, 300_000);

test("a full server evicts connections that it has half-closed", async () => {
  const full = open({ connectionsMax: 3 });
  const deaf = Array.from({ length: 3 }, () => dial({ port: full.port, allowHalfOpen: true }));
  for (const socket of deaf) {
    socket.on("error", () => {});
    socket.write("\0");
    await new Promise((resolve) => socket.once("data", resolve));
  }
  expect(full.connections()).toBe(3);
  await Bun.sleep(2_100);
  expect((await fetch(`http://127.0.0.1:${full.port}/?n0`, { keepalive: false })).status).toBe(200);
  for (const socket of deaf) socket.destroy();
  await full.stop();
});

test("an evicted client can read the response that it was sent", async () => {
  const full = open({ connectionsMax: 1 });
  const count = owed.length;
  const late = dial({ port: full.port, allowHalfOpen: true });
  const answers = readAll(late.pause());
  late.write(get("/never", CLOSE));
  while (owed.length === count) await Bun.sleep(1);
  owed.at(-1)!.respond(new HttpResponse(200, {}, "n0"));
  const next = dial({ port: full.port });
  const others = readAll(next);
  next.write(get("/?n1", CLOSE));
  expect(bodies(await others)).toEqual(["n1"]);
  late.resume();
  expect(bodies(await answers)).toEqual(["n0"]);
  late.destroy();
  await full.stop();
});

test("a client that disconnects gets no response, and costs no other one", async () => {
  const count = owed.length;
  const socket = dial();
  socket.write(get("/never"));
  while (owed.length === count) await Bun.sleep(1);
  socket.resetAndDestroy();
  await Bun.sleep(50);
  owed.at(-1)!.respond(new HttpResponse(200, {}));
  expect((await fetch(`http://127.0.0.1:${server.port}/?n0`, { keepalive: false })).status).toBe(
    200,
  );
});

test("stop closes idle connections and waits for owed responses", async () => {
  const stopped = open();
  const [idle, busy] = [dial({ port: stopped.port }), dial({ port: stopped.port })];
  // A connection that has sent nothing yet gets some time for its first request.
  idle.write(get("/?n0"));
  await new Promise((resolve) => idle.once("data", resolve));
  const [nothing, answer] = [readAll(idle), readAll(busy)];
  const count = owed.length;
  busy.write(get("/never") + get("/?n1"));
  while (owed.length === count) await Bun.sleep(1);
  const stop = stopped.stop();
  expect(await nothing).toBe("");
  owed.at(-1)!.respond(new HttpResponse(200, {}, "n0"));
  const text = await answer;
  expect(bodies(text)).toEqual(["n0"]);
  expect(text).toContain("\r\nConnection: close\r\n");
  await stop;
  await expect(fetch(`http://127.0.0.1:${stopped.port}/`)).rejects.toThrow();
});

test("stop waits for a client that reads a large response slowly", async () => {
  const stopped = open();
  const client = dial({ port: stopped.port });
  const count = owed.length;
  client.write(get("/never"));
  while (owed.length === count) await Bun.sleep(1);
  // More than the kernel buffers of both sides hold.
  const body = "x".repeat(32 << 20);
  owed.at(-1)!.respond(new HttpResponse(200, {}, body));
  const stop = stopped.stop();
  await Bun.sleep(100);
  const text = await readAll(client);
  expect(text.length - text.indexOf("\r\n\r\n") - 4).toBe(body.length);
  await stop;
});

test("stop does not reset a connection whose client has yet to close its side", async () => {
  const stopped = open();
  const client = dial({ port: stopped.port, allowHalfOpen: true });
  let reset: Error | undefined;
  client.on("error", (error) => {
    reset = error;
  });
  const ended = new Promise((resolve) => client.once("end", resolve));
  const count = owed.length;
  client.resume().write(get("/never"));
  while (owed.length === count) await Bun.sleep(1);
  const stop = stopped.stop();
  owed.at(-1)!.respond(new HttpResponse(200, {}));
  await Promise.all([ended, stop]);
  await holds(50, () => expect(reset).toBeUndefined());
  client.end();
});

test("stop closes a connection without a request while another waits for its response", async () => {
  const stopped = open();
  const [silent, busy] = [dial({ port: stopped.port }), dial({ port: stopped.port })];
  const [nothing, answer] = [readAll(silent), readAll(busy)];
  const count = owed.length;
  busy.write(get("/never"));
  while (owed.length === count || stopped.connections() < 2) await Bun.sleep(1);
  const stoppedAt = performance.now();
  const stop = stopped.stop();
  expect(await nothing).toBe("");
  // The server closed it before it had waited too long for its client.
  expect(performance.now() - stoppedAt).toBeLessThan(1_000 * IDLE_CONNECTION_SECONDS_MAX);
  owed.at(-1)!.respond(new HttpResponse(200, {}, "n2"));
  expect(bodies(await answer)).toEqual(["n2"]);
  await stop;
});

test("a draining server accepts connections, and closes each after its response", async () => {
  const draining = open();
  const drained = draining.drain();
  const answer = await fetch(`http://127.0.0.1:${draining.port}/?n3`);
  expect(await answer.text()).toBe("n3");
  expect(answer.headers.get("connection")).toBe("close");
  await drained;
  await draining.stop();
});

test("a broken invariant is reported, and closes only its own connection", async () => {
  const faults: string[] = [];
  const faulty = serveHttp({
    socket: openListeningSocket({ host: "127.0.0.1", port: 0 }),
    handle(exchange) {
      if (exchange.path === "/broken") throw new InvariantError("Broken invariant: a test's own");
      handle(exchange);
    },
    refusal: (status) => new HttpResponse(status, {}),
    onFault: ({ message }) => faults.push(message),
  });
  try {
    const other = dial({ port: faulty.port });
    const broken = dial({ port: faulty.port });
    const closed = new Promise<void>((resolve) => broken.once("close", () => resolve()));
    broken.on("error", () => {});
    broken.write(get("/broken"));
    await closed;
    expect(faults).toEqual(["Broken invariant: a test's own"]);
    other.write(get("/?n1", CLOSE));
    expect(bodies(await readAll(other))).toEqual(["n1"]);
  } finally {
    await faulty.stop();
  }
});

test("the connection of a client that does not read its response is closed", async () => {
  expect(await deafFor).toBeGreaterThan(IDLE_CONNECTION_SECONDS_MAX - 1);
}, 300_000);

test("a stopped server has no timer left", async () => {
  const [begun, ended] = [spyOn(globalThis, "setInterval"), spyOn(globalThis, "clearInterval")];
  try {
    const stopped = open();
    const timer: unknown = begun.mock.results[0]!.value;
    await stopped.stop();
    expect(ended.mock.calls.flat() as unknown[]).toContain(timer);
  } finally {
    begun.mockRestore();
    ended.mockRestore();
  }
});
