import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ChunkedDecoder } from "../../src/egress/chunked-decoder.ts";
import { GrowingBuffer } from "../../src/egress/growing-buffer.ts";
import { EGRESS_HEAD_BYTES_MAX } from "../../src/egress/limits.ts";
import { ResponseReader } from "../../src/egress/response-reader.ts";

const bytesMax = 20;

interface Read {
  status: number;
  headers: Record<string, string>;
  body: string;
  isWhole: boolean;
  isReusable: boolean;
}

/** Reads a response from pieces, and then perhaps the end of the connection. */
function read(pieces: readonly (string | Buffer)[], { method = "POST", ends = false } = {}): Read {
  const reader = new ResponseReader(method, bytesMax);
  let isWhole = false;
  for (const piece of pieces) {
    isWhole = reader.push(Buffer.from(piece as string, "latin1"));
    if (isWhole) break;
  }
  if (!isWhole && ends) isWhole = reader.end();
  return {
    status: reader.status,
    headers: { ...reader.headers },
    body: Buffer.from(reader.body).toString("latin1"),
    isWhole,
    isReusable: reader.isReusable,
  };
}

const start = "HTTP/1.1 200 OK\r\n";
const inChunks = `${start}Transfer-Encoding: chunked\r\n\r\n`;

/** Answers and what is read of them: status, body, whether the connection is kept. */
const taken: [string, string, Partial<Read>][] = [
  ["a length", `${start}Content-Length: 5\r\n\r\nhello`, { body: "hello" }],
  ["a length of 0", `${start}Content-Length: 0\r\n\r\n`, {}],
  ["a length of several zeros", `${start}Content-Length: 000\r\n\r\n`, {}],
  ["a length with zeros in front", `${start}Content-Length: 0005\r\n\r\nhello`, { body: "hello" }],
  ["no reason", "HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n", { status: 404 }],
  ["an empty reason", "HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n", { status: 404 }],
  ["a reason in Latin-1", "HTTP/1.1 404 Nö\r\nContent-Length: 0\r\n\r\n", { status: 404 }],
  ["no content", "HTTP/1.1 204 No\r\n\r\n", { status: 204 }],
  ["not modified", "HTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n", { status: 304 }],
  ["blanks around values", `${start}Content-Length:\t 2 \r\n\r\nok`, { body: "ok" }],
  ["chunks", `${inChunks}3\r\nabc\r\n02;x=y\r\nde\r\n0\r\n\r\n`, { body: "abcde" }],
  [
    "chunks, sized in any case",
    `${inChunks}a\r\n0123456789\r\nA\r\nabcdefghij\r\n0\r\n\r\n`,
    { body: "0123456789abcdefghij" },
  ],
  ["a size of 12 digits", `${inChunks}000000000003\r\nabc\r\n0\r\n\r\n`, { body: "abc" }],
  ["many chunks", `${inChunks}${"1\r\na\r\n".repeat(14)}0\r\n\r\n`, { body: "a".repeat(14) }],
  ["no chunk", `${inChunks}0\r\n\r\n`, {}],
  ["trailers", `${inChunks}1\r\na\r\n0\r\nX: y\r\nZ:\r\n\r\n`, { body: "a" }],
  ["chunks in capitals", `${start}Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n`, {}],
  [
    "interim answers",
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n${start}Content-Length: 1\r\n\r\na`,
    { body: "a" },
  ],
  [
    "a connection that closes",
    `${start}Connection: Keep-Alive, Close\r\nContent-Length: 1\r\n\r\na`,
    { body: "a", isReusable: false },
  ],
  ["HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", { body: "a", isReusable: false }],
  [
    "more than is kept",
    `${start}Content-Length: 21\r\n\r\n${"x".repeat(21)}`,
    { body: "x".repeat(20), isReusable: false },
  ],
  [
    "as much as is kept",
    `${start}Content-Length: 20\r\n\r\n${"x".repeat(20)}`,
    { body: "x".repeat(20) },
  ],
  [
    "more than is kept in chunks",
    `${inChunks}fffffffff\r\n${"x".repeat(21)}`,
    { body: "x".repeat(20), isReusable: false },
  ],
];

/** Answers that end with the connection. */
const ended: [string, string, Partial<Read>][] = [
  ["no length", `${start}\r\nabc`, { body: "abc" }],
  ["no length and no body", `${start}X: y\r\n\r\n`, {}],
  ["no length in HTTP/1.0", "HTTP/1.0 500 No\r\n\r\nabc", { status: 500, body: "abc" }],
];

/** Malformed responses, and how a lenient parser could be misled by each. */
const refused: [string, string][] = [
  ["another protocol", "220 smtp ready\r\n"],
  ["another version", "HTTP/2 200\r\nContent-Length: 0\r\n\r\n"],
  ["no version", "HTTP/1. 200 OK\r\n\r\n"],
  ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"],
  ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"],
  ["a status that begins with 0", "HTTP/1.1 020 OK\r\n\r\n"],
  ["another protocol from here on", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"],
  ["a bare LF", `${start}A: b\nContent-Length: 0\r\n\r\n`],
  ["a bare CR", `${start}A: b\rContent-Length: 0\r\n\r\n`],
  ["a NUL", `${start}A: \0\r\nContent-Length: 0\r\n\r\n`],
  ["a folded line", `${start}A: b\r\n c\r\n\r\n`],
  ["no colon", `${start}no colon\r\n\r\n`],
  ["no name", `${start}: b\r\n\r\n`],
  ["a blank before the colon", `${start}Content-Length : 5\r\n\r\n`],
  ["two lengths", `${start}Content-Length: 5\r\nContent-Length: 5\r\n\r\n`],
  ["a list of lengths", `${start}Content-Length: 5, 5\r\n\r\n`],
  ["a negative length", `${start}Content-Length: -1\r\n\r\n`],
  ["a signed length", `${start}Content-Length: +5\r\n\r\n`],
  ["a hexadecimal length", `${start}Content-Length: 0x5\r\n\r\n`],
  ["an empty length", `${start}Content-Length:\r\n\r\n`],
  ["a length beyond numbers", `${start}Content-Length: 1${"0".repeat(15)}\r\n\r\n`],
  ["a length and chunks", `${start}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n`],
  ["another coding", `${start}Transfer-Encoding: gzip, chunked\r\n\r\n`],
  ["two codings", `${start}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n`],
  ["no coding", `${start}Transfer-Encoding:\r\n\r\n`],
  ["chunks in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"],
  ["a chunk without size", `${inChunks}\r\n`],
  ["a later chunk without size", `${inChunks}1\r\na\r\n\r\n`],
  ["a chunk with an extension alone", `${inChunks};x\r\n`],
  ["a size with a blank", `${inChunks}3 \r\nabc`],
  ["a size with a prefix", `${inChunks}0x3\r\nabc`],
  ["a size beyond numbers", `${inChunks}${"f".repeat(13)}\r\n`],
  ["a size that ends with LF", `${inChunks}3\nabc`],
  ["a chunk that is longer than its size", `${inChunks}3\r\nabcd\r\n`],
  ["an endless extension", `${inChunks}3;${"x".repeat(300)}`],
  ["endless trailers", `${inChunks}0\r\n${`${"x".repeat(98)}:\r\n`.repeat(200)}`],
  ["an endless head", start + "A: b\r\n".repeat(EGRESS_HEAD_BYTES_MAX / 6)],
  ["endless interim answers", "HTTP/1.1 100 Continue\r\n\r\n".repeat(1_000)],
];

test("chunk extensions and trailers beyond their limits are refused", () => {
  const read = (text: string) => new ChunkedDecoder(6).read(Buffer.from(text), () => true);
  const extension = (chars: number) => `1;${"x".repeat(chars - 1)}\r\na\r\n0\r\n\r\n`;
  expect(read(extension(256))).toBe(extension(256).length);
  expect(() => read(extension(257))).toThrow();
  for (const trailers of ["A: bcd\r\n", "A:1\r\nB:2\r\n"]) {
    const text = `0\r\n${trailers}\r\n`;
    expect(read(text)).toBe(text.length);
    expect(() => read(text.replace(":", ":x"))).toThrow();
  }
});

test("all heads and the trailers of a response together may have as many bytes as the limit", () => {
  const interim = "HTTP/1.1 100 Continue\r\n\r\n";
  const head = (bytes: number) => {
    const text = `${start}Transfer-Encoding: chunked\r\nX: `;
    return `${text}${"x".repeat(bytes - text.length - 4)}\r\n\r\n`;
  };
  const isRead = (text: string) => {
    try {
      return read([text]).isWhole;
    } catch {
      return false;
    }
  };
  const most = EGRESS_HEAD_BYTES_MAX;
  const end = "0\r\n\r\n";
  expect([head(most), head(most + 1)].map((text) => isRead(text + end))).toEqual([true, false]);
  for (const [before, more] of [
    [(bytes: number) => interim + head(bytes - interim.length) + end, ""],
    [(bytes: number) => `${head(bytes - 4)}0\r\nA: `, "b\r\n\r\n"],
  ] as const) {
    expect([before(most) + more, before(most + 1) + more].map(isRead)).toEqual([true, false]);
  }
});

test("the bytes of a growing buffer stay what they were, whatever is added or cleared later", () => {
  const buffer = new GrowingBuffer();
  const views = [buffer.append(Buffer.from("abc")), buffer.append(Buffer.from("def"))];
  buffer.clear();
  expect(buffer.length).toBe(0);
  for (const piece of ["xyz", "-".repeat(1_000)]) views.push(buffer.append(Buffer.from(piece)));
  expect(buffer.length).toBe(1_003);
  expect(views.map(String)).toEqual(["abc", "abcdef", "xyz", `xyz${"-".repeat(1_000)}`]);
});

/** The pieces between these offsets. */
function split(text: string, offsets: readonly number[]): string[] {
  const cuts = offsets.map((offset) => offset % (text.length + 1)).toSorted((a, b) => a - b);
  return [0, ...cuts].map((cut, index) => text.slice(cut, cuts[index] ?? text.length));
}

describe("a response is read", () => {
  test.each(taken)("with %s", (_, text, expected) => {
    const whole = { status: 200, body: "", isWhole: true, isReusable: true, ...expected };
    expect(read([text])).toMatchObject(whole);
    expect(read([...text])).toMatchObject(whole);
  });

  test.each(ended)("with %s, up to the end of its connection", (_, text, expected) => {
    const whole = { status: 200, body: "", isReusable: false, ...expected };
    for (const pieces of [[text], [...text]]) {
      expect(read(pieces)).toMatchObject({ isWhole: false });
      expect(read(pieces, { ends: true })).toMatchObject({ ...whole, isWhole: true });
    }
  });

  test.each(taken)("with %s only when it is complete", (_, text, { isReusable = true }) => {
    // One that is cut is whole before its end.
    if (!isReusable) return;
    for (let length = 0; length < text.length; length++) {
      expect(read([text.slice(0, length)], { ends: true }).isWhole).toBe(false);
    }
  });

  test("with all its headers", () => {
    const text = `${start}X-A: 1\r\n__proto__: x\r\nx-a:  2\t\r\nEmpty:\r\nContent-Length: 0\r\n\r\n`;
    expect(Object.entries(read([text]).headers)).toEqual([
      ["x-a", "1, 2"],
      ["__proto__", "x"],
      ["empty", ""],
      ["content-length", "0"],
    ]);
  });

  test("to HEAD without the body that its headers announce", () => {
    const text = `${start}Content-Length: 5\r\n\r\n`;
    expect(read([text], { method: "HEAD" })).toMatchObject({ isWhole: true, isReusable: true });
  });

  test("with bytes after it, which close the connection", () => {
    const text = `${start}Content-Length: 1\r\n\r\na`;
    expect(read([`${text}HTTP/1.1 200 OK\r\n`])).toMatchObject({ body: "a", isReusable: false });
    const none = { body: "", isWhole: true, isReusable: false };
    expect(read(["HTTP/1.1 204 No\r\n\r\nx"])).toMatchObject(none);
    expect(read([text], { method: "HEAD" })).toMatchObject(none);
  });
});

describe("a malformed response is refused", () => {
  test("with the versions of HTTP that are read", () => {
    expect(() => read(["HTTP/2 200\r\n\r\n"])).toThrow("Expected a response of HTTP/1.1 or 1.0");
  });

  test.each(refused)("%s", (_, text) => {
    expect(() => read([text])).toThrow(/^Expected|^The receiver switched/);
    expect(() => read([...text])).toThrow(/^Expected|^The receiver switched/);
  });
});

/** The response as far as it was read, or the error. */
function outcome(pieces: readonly string[]) {
  try {
    // Bytes after the response are not seen when they arrive later.
    return { ...read(pieces, { ends: true }), isReusable: undefined };
  } catch (error) {
    return String(error);
  }
}

test("a response is read alike however it is split", () => {
  const texts = [...taken, ...ended, ...refused].map(([, text]) => text);
  const broken = fc
    .tuple(fc.constantFrom(...texts.filter((text) => text.length < 500)), fc.nat(), fc.nat(255))
    .map(([text, at, byte]) => {
      const place = at % text.length;
      return text.slice(0, place) + String.fromCharCode(byte) + text.slice(place + (at % 2));
    });
  const offsets = fc.array(fc.nat(), { maxLength: 6 });
  fc.assert(
    fc.property(fc.oneof(fc.constantFrom(...texts), broken), offsets, (text, cuts) => {
      expect(outcome(split(text, cuts))).toEqual(outcome([text]));
    }),
    { numRuns: 3_000 },
  );
});

test("heads that repeat, and others between them, are read as what they are", () => {
  const keepsOpen = `${start}X: 1\r\nContent-Length: 1\r\n\r\na`;
  const closes = keepsOpen.replace("HTTP/1.1", "HTTP/1.0");
  const fails = keepsOpen.replace("200 OK", "503 No").replace("X: 1", "X: 2");
  for (const answer of [keepsOpen, keepsOpen, closes, keepsOpen, fails, fails, closes, closes]) {
    expect(read([answer])).toEqual({
      status: answer === fails ? 503 : 200,
      headers: { x: answer === fails ? "2" : "1", "content-length": "1" },
      body: "a",
      isWhole: true,
      isReusable: answer !== closes,
    });
  }
  const broken = keepsOpen.replace("X: 1", "X : 1");
  for (let n = 0; n < 2; n++) expect(() => read([broken])).toThrow("Expected a header line");
});
