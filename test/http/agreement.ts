import { expect } from "bun:test";
import { connect } from "node:net";
import fc from "fast-check";
import { openListeningSocket } from "../../src/http/listening-socket.ts";
import { HttpResponse } from "../../src/http/response.ts";
import { serveHttp } from "../../src/http/server.ts";

/**
 * Our heads beside Bun's own HTTP server, which parses with other code. Ours may refuse more; but
 * what it takes for a request, the other must take for the same one, and never less of them:
 * requests are smuggled where a second opinion differs.
 */

const AHEAD = ["GET", "POST", "HEAD ", "get", "G(T", " GET", "\r\nGET", "", "OPTIONS"];
const SPACES = [" ", " ", " ", " ", "  ", "\t", ""];
const TARGETS = [
  ...["/p?q=1", "/p?q=1", "/p?q=1", "/", "/p?", "/p?a?b", "/p?\xc3\xa9", "*", "p", "?q", ""],
  ...[
    "http://a/p?q",
    "http://a:1/",
    "HTTP://a/p?q",
    "http://a",
    "http://a?q",
    "https://a/p",
    "http://",
    "//a/p",
    "/p?a b",
    "/p?\0",
    "/p\x7f",
  ],
];
const VERSIONS = [
  "HTTP/1.1",
  "HTTP/1.1",
  "HTTP/1.1",
  "HTTP/1.0",
  "HTTP/2.0",
  "http/1.1",
  "HTTP/1.",
  "",
];
const NAMES = [
  ...["Host", "host", "Host ", " Host", "Content-Length", "content-length", "Content-Length "],
  ...[
    "Transfer-Encoding",
    "transfer-encoding",
    "Transfer-Encoding\t",
    "Connection",
    "Expect",
    "Upgrade",
  ],
  ...["X", "X-Y", "", "X(", "X\0", "\xff", "Host:", "X\r", "X\n"],
];
const COLONS = [":", ":", ": ", ": ", ":\t", " :", "", "::"];
const VALUES = [
  ...["a", "a:1", "[::1]", "a,b", "a b", "a/b", "u@a", "", "0", "+1", "-1", "0x1", "00", "1, 1"],
  // No body of 1: what is left of the text behind it may be a request that Bun alone refuses.
  ...[
    "5",
    "99999999999999999999",
    "chunked",
    "Chunked",
    "identity",
    "chunked, chunked",
    "xchunked",
  ],
  ...[
    "close",
    "keep-alive",
    "100-continue",
    "h2c",
    "\0",
    "\x7f",
    "\xff",
    "a\rb",
    "a\nb",
    "a\r\n b",
  ],
];
const ENDS = ["\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r", "\r\r\n"];
const BODIES = [
  ...["", "", "0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", "hello", "\r\n"],
  ...["00005;a=b\r\nhello\r\n0\r\n\r\n", "5 \r\nhello\r\n0\r\n\r\n", "5\nhello\r\n0\r\n\r\n"],
  ...[
    "5\r\nhello0\r\n\r\n",
    "00\r\n\n",
    "A\r\n0123456789\r\n1\r\nx\r\n0;\r\n\r\n",
    "+5\r\nhello\r\n0\r\n\r\n",
  ],
];

const pick = (list: readonly string[]) => fc.constantFrom(...list);
const line = fc
  .tuple(pick(NAMES), pick(COLONS), pick(VALUES), pick(ENDS))
  .map((parts) => parts.join(""));
const start = fc.oneof(
  { weight: 3, arbitrary: fc.constant("GET /p?q=1 HTTP/1.1\r\n") },
  {
    weight: 2,
    arbitrary: fc
      .tuple(pick(AHEAD), pick(SPACES), pick(TARGETS), pick(SPACES), pick(VERSIONS), pick(ENDS))
      .map((parts) => parts.join("")),
  },
);
const FIRST = [
  ...["Host: a\r\n", "Host: a\r\n", "Host: a\r\n", ""],
  ...["Host: a\r\nTransfer-Encoding: chunked\r\n", "Host: a\r\nContent-Length: 5\r\n"],
];

/** One request, hardly ever a good one, with something behind it that may be one more. */
const requests: fc.Arbitrary<string> = fc
  .tuple(start, pick(FIRST), fc.array(line, { maxLength: 3 }), pick(ENDS), pick(BODIES))
  .map(
    ([first, host, lines, end, body]) =>
      `${first}${host}${lines.join("")}${end}${body}GET /second HTTP/1.1\r\nHost: b\r\n\r\n`,
  );

const SEEN = "X-Seen";
/** How long Bun's server, which has no better way to say that it is done, may be silent. */
const SILENCE_MS = [40, 2_000, 20_000];

/** Two servers on free ports that tell in a header what they took for the request. */
function openServers() {
  const mine = serveHttp({
    socket: openListeningSocket({ host: "127.0.0.1", port: 0 }),
    handle(exchange) {
      const query = exchange.query && `?${exchange.query}`;
      exchange.respond(
        new HttpResponse(200, { [SEEN]: seen(exchange.method, exchange.path + query) }),
      );
    },
    refusal: (status) => new HttpResponse(status, {}),
  });
  const bun = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch({ method, url }) {
      // The value that Bun passes for an invalid Host.
      if (!url.startsWith("http")) return new Response("", { status: 400 });
      return new Response("", {
        headers: { [SEEN]: seen(method, url.slice(url.indexOf("/", 8))) },
      });
    },
  });

  /** Requests that each server saw; repeated with more time where the two disagree. */
  async function take(text: string): Promise<{ ours: string[]; bun: string[] }> {
    const ours = await ask(mine.port, text);
    let taken = { ours, bun: [] as string[] };
    for (const silenceMs of SILENCE_MS) {
      for (const asked of new Set([text, forBun(text)])) {
        taken = { ours, bun: await ask(bun.port!, asked, silenceMs) };
        if (ours.every((request, index) => request === taken.bun[index])) return taken;
      }
    }
    return taken;
  }

  return {
    take,
    async stop() {
      await mine.stop();
      await bun.stop(true);
    },
  };
}

/**
 * Returns a request without what RFC 9112 accepts and Bun does not: empty lines ahead of a request
 * (§2.2), and HTTP/1.0 without a Host (§3.2).
 */
function forBun(text: string): string {
  const plain = text.replace(/^(\r\n)+/, "").replace(/\r\n\r\n(\r\n)+/g, "\r\n\r\n");
  const [head = ""] = plain.split("\r\n\r\n", 1);
  if (/\r\nhost:/i.test(head)) return plain;
  return plain.replace(/^([^\r\n]* HTTP\/1\.0\r\n)/, "$1Host: a\r\n");
}

/** Bun tells the target as a normalised URL. */
function seen(method: string, target: string): string {
  const ascii = target.replace(/[\x80-\xff]/g, (byte) => {
    return `%${byte.charCodeAt(0).toString(16).toUpperCase()}`;
  });
  const { pathname, search } = new URL(`http://a${ascii}`);
  return encodeURIComponent(`${method} ${pathname}${search}`);
}

/**
 * The requests that a server took, until it closes, which it does when the client has sent all, or
 * is silent, if that is what it is left by.
 */
function ask(port: number, text: string, silenceMs?: number): Promise<string[]> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: silenceMs === undefined });
    let answers = "";
    const done = () => {
      socket.destroy();
      resolve([...answers.matchAll(/\r\nX-Seen: (\S*)/gi)].map((match) => match[1]!));
    };
    if (silenceMs !== undefined) socket.setTimeout(silenceMs, done);
    socket.on("data", (chunk) => {
      answers += chunk.toString("latin1");
    });
    socket.on("error", () => {});
    socket.on("end", done);
    socket.on("close", done);
    socket.write(Buffer.from(text, "latin1"));
    if (silenceMs === undefined) socket.end();
  });
}

/** How many requests are in progress at once: most of the time they wait for silence. */
const AT_ONCE = 64;

/** Asks both servers `count` random requests; returns how often ours took one. */
export async function agree(count: number, seed: number): Promise<number> {
  const servers = openServers();
  const texts = fc.sample(requests, { numRuns: count, seed });
  let taken = 0;
  try {
    for (let at = 0; at < count; at += AT_ONCE) {
      await Promise.all(
        texts.slice(at, at + AT_ONCE).map(async (text) => {
          const { ours, bun } = await servers.take(text);
          if (ours.length > 0) taken++;
          expect({ text, taken: bun.slice(0, ours.length) }).toEqual({ text, taken: ours });
        }),
      );
    }
  } finally {
    await servers.stop();
  }
  return taken;
}
