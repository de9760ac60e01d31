import { expect, test } from "bun:test";
import fc from "fast-check";
import { ResponseReader } from "../../src/egress/response-reader.ts";

/**
 * Our answers beside those of llhttp, which node:http parses with. Ours may refuse more; but what
 * it takes for an answer, the other must take for the same one, with the same end: where a second
 * opinion differs, a receiver could plant the answer to the request of another user.
 */

const STARTS = [
  ...["HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 404\r\n", "HTTP/1.0 200 OK\r\n"],
  ...[
    "HTTP/1.1 204 No\r\n",
    "HTTP/1.1 304 No\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "http/1.1 200\r\n",
  ],
  ...[
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n",
    "HTTP/1.1 200  OK\r\n",
    "HTTP/1.1 2000 OK\r\n",
  ],
  ...[
    "HTTP/1.1 200 \xfc\0\r\n",
    "HTTP/1.1\t200 OK\r\n",
    "\r\nHTTP/1.1 200 OK\r\n",
    "HTTP/1.1 600 X\r\n",
  ],
];
const NAMES = [
  ...[
    "Content-Length",
    "content-length",
    "Content-Length ",
    "Transfer-Encoding",
    "transfer-encoding",
  ],
  ...[
    "Connection",
    "Connection",
    "X",
    "X-Y",
    "",
    " X",
    "X(",
    "X\0",
    "\xff",
    "Trailer",
    "Keep-Alive",
  ],
];
const COLONS = [":", ": ", ": ", ": ", ":\t", " :", "", "::"];
const VALUES = [
  ...[
    "0",
    "5",
    "5",
    "05",
    "+5",
    "-5",
    "0x5",
    "5, 5",
    "5 5",
    "",
    "99999999999999999999",
    "18446744073709551621",
  ],
  ...[
    "chunked",
    "chunked",
    "Chunked",
    "gzip, chunked",
    "chunked, chunked",
    "identity",
    "xchunked",
    "chunked;a",
  ],
  ...[
    "close",
    "keep-alive",
    "upgrade",
    "a, close",
    "a",
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
  ...[
    "",
    "hello",
    "hello",
    "0\r\n\r\n",
    "5\r\nhello\r\n0\r\n\r\n",
    "5\r\nhello\r\n0\r\n\r\n",
    "hell",
  ],
  ...["00005;a=b\r\nhello\r\n0\r\n\r\n", "5 \r\nhello\r\n0\r\n\r\n", "5\nhello\r\n0\r\n\r\n"],
  ...[
    "5\r\nhello0\r\n\r\n",
    "0\r\nX: y\r\n\r\n",
    "A\r\n0123456789\r\n1\r\nx\r\n0;\r\n\r\n",
    "+5\r\nhello\r\n0\r\n\r\n",
  ],
  ...[
    "0\r\nX\r\n\r\n",
    "0\r\n\n",
    '5;a="\r\n"\r\nhello\r\n0\r\n\r\n',
    "fffffffffffffffff5\r\nhello\r\n0\r\n\r\n",
  ],
];
const NEXT = "HTTP/1.1 299 Next\r\nContent-Length: 0\r\n\r\n";

/** Not in the types: a part of node:http that Bun has as well. */
const { HTTPParser } = (await import("node:_http_common" as string)) as any;

const pick = (list: readonly string[]) => fc.constantFrom(...list);
const line = fc
  .tuple(pick(NAMES), pick(COLONS), pick(VALUES), pick(ENDS))
  .map((parts) => parts.join(""));
const framing = pick([
  "",
  "Content-Length: 5\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Content-Length: 0\r\n",
]);
const answers = fc
  .tuple(pick(STARTS), framing, fc.array(line, { maxLength: 3 }), pick(ENDS), pick(BODIES))
  .map(([start, framed, lines, end, body]) => `${start}${framed}${lines.join("")}${end}${body}`);

interface Message {
  status: number;
  body: string;
}

/** The answer, interim ones left out; undefined when it is refused or not whole. */
function ours(text: string): (Message & { isReusable: boolean }) | undefined {
  const reader = new ResponseReader("POST", 1_000);
  try {
    if (!reader.push(Buffer.from(text, "latin1"))) return undefined;
  } catch {
    return undefined;
  }
  const body = Buffer.from(reader.body).toString("latin1");
  return { status: reader.status, body, isReusable: reader.isReusable };
}

/** The messages that llhttp finds, interim ones left out. */
function theirs(text: string): Message[] {
  const found: Message[] = [];
  let now: Message = { status: 0, body: "" };
  const parser = new HTTPParser();
  parser.initialize(HTTPParser.RESPONSE, {}, 1 << 16, 0);
  parser[HTTPParser.kOnHeaders | 0] = () => {};
  parser[HTTPParser.kOnHeadersComplete | 0] = (...parts: unknown[]) => {
    now = { status: parts[5] as number, body: "" };
    return 0;
  };
  parser[HTTPParser.kOnBody | 0] = (body: Uint8Array) => {
    now.body += Buffer.from(body).toString("latin1");
  };
  parser[HTTPParser.kOnMessageComplete | 0] = () => {
    if (now.status >= 200) found.push(now);
  };
  parser.execute(Buffer.from(text, "latin1"));
  return found;
}

test("llhttp reads each accepted response alike, and the next one after it", () => {
  let taken = 0;
  let kept = 0;
  fc.assert(
    fc.property(answers, (text) => {
      const answer = ours(text);
      if (answer === undefined) return;
      taken += 1;
      const { isReusable, ...message } = answer;
      const [first, second] = theirs(text + NEXT);
      expect(first).toEqual(message);
      if (!isReusable) return;
      kept += 1;
      expect(second).toEqual({ status: 299, body: "" });
    }),
    { numRuns: 20_000 },
  );
  expect(taken).toBeGreaterThan(200);
  expect(kept).toBeGreaterThan(100);
}, 300_000);
