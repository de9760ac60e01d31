import { afterEach, describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import type { DeliveryResult } from "../../src/destinations/destination.ts";
import { webhookKind } from "../../src/destinations/webhook/webhook.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { RawSink } from "../egress/sink.ts";
import { outgoing } from "./outgoing.ts";

const event = outgoing({ n: 1 });
const sinks: RawSink[] = [];
afterEach(() => {
  for (const sink of sinks.splice(0)) sink.close();
});

/** The verdict of a delivery to a receiver that does this with each request. */
async function verdictOf(answer: (socket: Socket) => void, timeoutMs = 60_000) {
  const sink = new RawSink(answer);
  sinks.push(sink);
  const port = await sink.listen();
  const verdict = await deliver(`http://127.0.0.1:${port}/hook`, timeoutMs);
  return { verdict, sink };
}

/** Returns the verdict about a refused request, with the status of its kept answer. */
async function judged(answer: (socket: Socket) => void) {
  const { verdict } = await verdictOf(answer);
  if (verdict.kind === "delivered" || !("answer" in verdict)) throw new Error("No answer is kept");
  const { answer: kept, ...rest } = verdict;
  return { status: kept?.status, ...rest };
}

async function deliver(webhookUrl: string, timeoutMs = 60_000): Promise<DeliveryResult> {
  const egress = createEgress({ allow: ["127.0.0.0/8"] });
  const open = webhookKind(egress).open({ webhookUrl, timeoutMs }, "workspace");
  const verdict = await open.deliver([event], new AbortController().signal);
  egress.close();
  return verdict;
}

const plain =
  (status: string, ...headers: string[]) =>
  (socket: Socket) => {
    const lines = [`HTTP/1.1 ${status}`, "Content-Length: 0", ...headers, "", ""];
    socket.write(lines.join("\r\n"));
  };
const start = "HTTP/1.1 200 OK\r\n";

/** Writes a piece every few milliseconds until the socket is gone. */
function forever(socket: Socket, piece: string | Uint8Array, everyMs = 2): void {
  const timer = setInterval(() => {
    if (socket.destroyed) clearInterval(timer);
    else socket.write(piece);
  }, everyMs);
}

describe("statuses", () => {
  test.each([200, 201, 202, 204, 299])("%d is delivered", async (status) => {
    const answer =
      status === 204 ? (s: Socket) => s.write("HTTP/1.1 204 No\r\n\r\n") : plain(`${status} X`);
    expect((await verdictOf(answer)).verdict).toEqual({ kind: "delivered" });
  });

  test.each([300, 301, 302, 303, 304, 307, 308])(
    "%d is rejected, with the reason that redirects are not followed",
    async (status) => {
      const reason = `HTTP ${status} from receiver; redirects are not followed`;
      expect(await judged(plain(`${status} X`))).toEqual({ status, kind: "rejected", reason });
    },
  );

  test.each([400, 401, 403, 404, 405, 409, 410, 413, 422, 451])(
    "%d is rejected",
    async (status) => {
      const reason = `HTTP ${status} from receiver`;
      expect(await judged(plain(`${status} X`))).toEqual({ status, kind: "rejected", reason });
    },
  );

  test.each([408, 425, 429, 502, 503, 504])(
    "%d is retried, and is the destination's failure",
    async (status) => {
      const reason = `HTTP ${status} from receiver`;
      expect(await judged(plain(`${status} X`))).toEqual({ status, kind: "retry", reason });
    },
  );

  test.each([500, 501, 505, 507, 599])(
    "%d is retried, and may be the event's failure",
    async (status) => {
      const reason = `HTTP ${status} from receiver`;
      const found = await judged(plain(`${status} X`));
      expect(found).toEqual({ status, kind: "retry", reason, scope: "event" });
    },
  );

  test("a redirect is not followed, wherever it leads", async () => {
    const canary = new RawSink();
    sinks.push(canary);
    const port = await canary.listen();
    const { verdict } = await verdictOf(plain("302 Found", `Location: http://127.0.0.1:${port}/`));
    expect(verdict.kind).toBe("rejected");
    expect(canary.connections).toBe(0);
  });
});

test("a connection test that is aborted ends with a failed step", async () => {
  const stop = new AbortController();
  const sink = new RawSink(() => stop.abort(new Error("The test was stopped")));
  sinks.push(sink);
  const egress = createEgress({ allow: ["127.0.0.0/8"] });
  const config = { webhookUrl: `http://127.0.0.1:${await sink.listen()}/` };
  const steps = await webhookKind(egress).test(config, "workspace", stop.signal);
  const failed = { step: "write", ok: false, message: "The test was stopped" };
  expect(steps.at(-1)).toMatchObject(failed);
  egress.close();
});

const fromNow = (ms: number) => new Date(Date.now() + ms).toUTCString();

describe("Retry-After", () => {
  test.each([
    { header: () => "7", least: 7_000, most: 7_000 },
    { header: () => "0", least: 0, most: 0 },
    // It is read somewhat later than it is written.
    { header: () => fromNow(3_000_000), least: 2_000_000, most: 3_001_000 },
    { header: () => fromNow(-60_000), least: 0, most: 0 },
    { header: () => "999999999", least: 3_600_000, most: 3_600_000 },
  ])("from $least to $most ms", async ({ header, least, most }) => {
    const { verdict } = await verdictOf(plain("429 Slow", `Retry-After: ${header()}`));
    expect(verdict.kind).toBe("retry");
    const { afterMs } = verdict as { afterMs: number };
    expect(afterMs).toBeGreaterThanOrEqual(least);
    expect(afterMs).toBeLessThanOrEqual(most);
  });

  test("a malformed value is ignored", async () => {
    const reason = "HTTP 503 from receiver";
    const found = await judged(plain("503 Down", "Retry-After: soon"));
    expect(found).toEqual({ status: 503, kind: "retry", reason });
  });
});

describe("broken receivers", () => {
  const retry = (code: RegExp) => ({ kind: "retry", reason: expect.stringMatching(code) });

  test("a receiver that refuses connections is retried", async () => {
    const sink = new RawSink();
    const port = await sink.listen();
    sink.close();
    expect(await deliver(`http://127.0.0.1:${port}/`)).toEqual(retry(/ECONNREFUSED/) as never);
  });

  test("a name that does not resolve is retried", async () => {
    const verdict = await deliver("http://nowhere.invalid/");
    expect(verdict.kind).toBe("retry");
  });

  test("a receiver that does not respond, or drips its head or body, is aborted at the timeout", async () => {
    const late = retry(/No complete answer within 1500 ms/) as never;
    const silent = () => {};
    // Slowly enough that the head is not too large before the time is over.
    const head = (socket: Socket) => forever(socket, "HTTP/1.1 100 Continue\r\n\r\n", 20);
    const body = (socket: Socket) => {
      socket.write(`${start}Content-Length: 1000000\r\n\r\n`);
      forever(socket, ".");
    };
    const cut = await Promise.all([silent, head, body].map((answer) => verdictOf(answer, 1_500)));
    for (const { verdict } of cut) expect(verdict).toEqual(late);
  });

  test("a receiver that resets or closes the connection before or in its response is retried", async () => {
    const before = (socket: Socket) => socket.resetAndDestroy();
    const closed = (socket: Socket) => socket.end();
    const half = (end: (socket: Socket) => void) => (socket: Socket) => {
      socket.write(`${start}Content-Length: 100\r\n\r\nabc`);
      setTimeout(() => end(socket), 10);
    };
    for (const answer of [before, closed, half(before), half(closed)]) {
      expect((await verdictOf(answer)).verdict.kind).toBe("retry");
    }
  });

  test("a receiver that does not speak HTTP, or sends contradicting headers, is retried", async () => {
    const both = "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    const answers = ["220 smtp ready\r\n", `${start}${both}`, `${start}no colon\r\n\r\n`];
    for (const text of answers) {
      const { verdict } = await verdictOf((socket) => void socket.write(text));
      expect(verdict.kind).toBe("retry");
    }
  });

  test("an endless head and a switch of protocols are retried", async () => {
    const head = (socket: Socket) => {
      socket.write(start);
      forever(socket, `X-A: ${"y".repeat(4_000)}\r\n`);
    };
    expect((await verdictOf(head)).verdict).toEqual(
      retry(/Expected a head of at most 16384 bytes/) as never,
    );
    const upgrade = plain("101 Switching Protocols", "Upgrade: x", "Connection: upgrade");
    expect((await verdictOf(upgrade)).verdict.kind).not.toBe("delivered");
  });

  test("an endless body is cut, and its status counts", async () => {
    const endless = (status: string) => (socket: Socket) => {
      socket.write(`HTTP/1.1 ${status}\r\nTransfer-Encoding: chunked\r\n\r\n`);
      forever(socket, `1000\r\n${"z".repeat(4_096)}\r\n`);
    };
    const { verdict, sink } = await verdictOf(endless("200 OK"));
    expect(verdict).toEqual({ kind: "delivered" });
    expect(sink.connections).toBe(1);
    expect((await verdictOf(endless("400 No"))).verdict.kind).toBe("rejected");
  });

  test("a compressed body that would grow huge is not decompressed", async () => {
    const bomb = Bun.gzipSync(Buffer.alloc(50 << 20));
    const before = process.memoryUsage.rss();
    const { verdict, sink } = await verdictOf((socket) => {
      socket.write(`${start}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`);
      socket.write(bomb);
    });
    expect(verdict).toEqual({ kind: "delivered" });
    expect(sink.requests[0]).toMatch(/accept-encoding: identity/i);
    expect(process.memoryUsage.rss() - before).toBeLessThan(40 << 20);
  });

  test("bytes after a response are not read as the next response", async () => {
    const egress = createEgress({ allow: ["127.0.0.0/8"] });
    const sink = new RawSink((socket) => {
      socket.write(`${start}Content-Length: 0\r\n\r\nHTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n`);
    });
    sinks.push(sink);
    const webhookUrl = `http://127.0.0.1:${await sink.listen()}/`;
    const open = webhookKind(egress).open({ webhookUrl }, "workspace");
    const { signal } = new AbortController();
    for (let n = 0; n < 5; n++) {
      expect(await open.deliver([event], signal)).toEqual({ kind: "delivered" });
      await Bun.sleep(5);
    }
    egress.close();
  });

  test("an idle connection that the receiver has closed costs no attempt", async () => {
    const egress = createEgress({ allow: ["127.0.0.0/8"] });
    const sink = new RawSink((socket) => {
      socket.write(`${start}Content-Length: 0\r\n\r\n`);
      // Closes just when the next request may be on its way.
      setTimeout(() => socket.destroy(), 1);
    });
    sinks.push(sink);
    const webhookUrl = `http://127.0.0.1:${await sink.listen()}/`;
    const open = webhookKind(egress).open({ webhookUrl }, "workspace");
    for (let n = 0; n < 200; n++) {
      const verdict = await open.deliver([event], new AbortController().signal);
      expect(verdict).toEqual({ kind: "delivered" });
      await Bun.sleep(Math.random() * 3);
    }
    egress.close();
  }, 300_000);
});
