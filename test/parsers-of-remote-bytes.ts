import { Type } from "@sinclair/typebox";
import { expectJsonShape } from "../src/api/request/json-shape.ts";
import { parseTags } from "../src/api/request/preconditions.ts";
import { sessionSecret } from "../src/api/request/session-cookie.ts";
import { readQuery } from "../src/api/request/validation.ts";
import { listPage, uploadsPage } from "../src/backup/bucket/listing.ts";
import { importsOf } from "../src/catalog/code/imports.ts";
import { failureOf as clickhouseFailure } from "../src/destinations/clickhouse/failures.ts";
import {
  errorFields,
  PostgresMessageReader,
  rowOf,
} from "../src/destinations/postgres/protocol.ts";
import { retryAfterMs } from "../src/destinations/retry-after.ts";
import { failureOf as storeFailure } from "../src/destinations/s3/failures.ts";
import { AccessTokens } from "../src/destinations/webhook/oauth/access-tokens.ts";
import { KeptTokens } from "../src/destinations/webhook/oauth/kept-tokens.ts";
import type { Egress } from "../src/egress/egress.ts";
import { ResponseReader } from "../src/egress/response-reader.ts";
import { eventOf } from "../src/event/event.ts";
import { inspectQuery } from "../src/event/inspect.ts";
import { scanBody } from "../src/event/sdk/body.ts";
import { BufferedBytes } from "../src/http/buffered-bytes.ts";
import { HttpConnection } from "../src/http/connection.ts";
import { HttpResponse } from "../src/http/response.ts";
import { createClientAddresses } from "../src/ingest/client-address.ts";
import { bodyContent } from "../src/ingest/sdk/body-content.ts";
import { memberReader } from "../src/json/member-reader.ts";
import { AnswerLengths, boundedAnswer } from "../src/kafka/bounded-connections.ts";
import { HostCalls } from "../src/sandbox/host-calls/host-calls.ts";
import { decodeGuestReply, GuestFrameReader } from "../src/sandbox/protocol/guest-frames.ts";
import { parseRunReply } from "../src/sandbox/protocol/reply-parser.ts";
import { SDK_BODY_BYTES_MAX } from "../src/settings/limits.ts";
import { programRequest } from "../src/transformer/custom-transform/program-request.ts";
import { itemsIn } from "../src/transformer/custom-transform/request-items.ts";
import { importedNames } from "../src/transformer/test-code/imported-names.ts";
import { recordOf } from "./event/agreement.ts";
import { answerKinds, kafka } from "./kafka/random-answers.ts";

/** A parser of bytes that a client, a receiver, a broker, a database or a guest sends. */
export interface RemoteParser {
  name: string;
  /** Files of `src` that read the bytes. */
  files: string[];
  /** Bytes before and after the repeated ones, so that the parser reaches them. */
  frames: [before: string, after: string][];
  /** Pieces that are repeated, alone and in pairs: those of the format, and what breaks it. */
  tokens: string[];
  /** Most bytes that are given to the parser; an eighth is compared with it. */
  bytesMax: number;
  /** Reads the bytes, in one piece or byte by byte. May throw. */
  parse(bytes: Buffer, isDripped: boolean): unknown;
}

/** Calls `push` with the bytes, whole or one by one, until it throws. */
function feed(bytes: Buffer, isDripped: boolean, push: (piece: Buffer) => unknown): void {
  if (!isDripped) push(bytes);
  else for (let at = 0; at < bytes.length; at++) push(bytes.subarray(at, at + 1));
}

const response = new HttpResponse(200, {});

/** A connection of the data plane whose client reads everything. */
function httpConnection(): HttpConnection {
  const nothing = () => {};
  const socket = {
    ...{ remoteAddress: "192.0.2.1", pause: nothing, resume: nothing, end: nothing },
    ...{ shutdown: nothing, terminate: nothing, write: (bytes: Buffer) => bytes.length },
  } as unknown as ConstructorParameters<typeof HttpConnection>[0];
  return new HttpConnection(socket, {
    handle(exchange) {
      exchange.body();
      exchange.respond(response);
    },
    refusal: () => response,
    onFirstRequest: nothing,
    bodyBytesMax: () => SDK_BODY_BYTES_MAX,
    networkOf: () => undefined,
    buffered: new BufferedBytes(),
    ...{ seconds: 0, date: "", isStopping: false },
  });
}

const headers = [":", " ", "\t", "a", "a: b\r\n", "\r", "\n", ",", "close,", "x: ", "\x80", "0"];
const json = ['{"a":', "[", "{}", "[],", '"', '\\"', "1,", "}", "]", ",", '"":', "\\u0000", "é"];
const readMember = memberReader(["b"]);
const wire = ["\0", "\x01", "\x02", "\xff", "\x7f", "\x80", "\0\0\0\x05", "\0\0\0\0", "a", "a\0"];
const trusted = createClientAddresses(["0.0.0.0/0", "::/0"]);
const kinds = new Map(answerKinds.map((kind) => [kind.name, kind]));
const answer = (body: Uint8Array, headers: Record<string, string> = {}) => {
  return { url: "http://a/", status: 400, headers, body };
};

export const remoteParsers: RemoteParser[] = [
  {
    name: "the members of an event",
    files: ["src/json/member-reader.ts"],
    frames: [
      ["", ""],
      ['{"a":', '"}'],
    ],
    tokens: json,
    bytesMax: 65_536,
    parse: (bytes) => readMember(bytes),
  },
  {
    name: "the query of a pixel",
    files: ["src/event/inspect.ts", "src/event/scan.ts", "src/event/event.ts"],
    frames: [["writeKey=k&userId=u&", ""]],
    tokens: ["&", "a", "=", ".", ".0", "a.9=&", "%", "%FF", "%E2", "+", "properties.", "\x01", '"'],
    bytesMax: 32_000,
    parse(bytes) {
      const query = bytes.toString("latin1");
      inspectQuery(query, "page", true);
      eventOf(recordOf(query));
    },
  },
  {
    name: "the event of an SDK",
    files: [
      "src/event/sdk/outline.ts",
      "src/event/sdk/event.ts",
      "src/event/sdk/line-breaks.ts",
      "src/event/sdk/parsed-event.ts",
    ],
    frames: [
      ["", ""],
      ['{"messageId":"m",', "}"],
      ['{"messageId":"m","context":{', "}}"],
      ['{"messageId":"', '"}'],
      ['{"sentAt":"2026-01-01T00:00:00.', '"}'],
    ],
    tokens: [...json, '"a":1,', '"\\u0061":1,', '"context":{', '"ip":', " ", "\n", "0"],
    bytesMax: 256_000,
    parse: (bytes) =>
      eventOf({
        ...{ format: "json", type: "track", receivedAt: 5, sourceId: "source", clientAddress: "" },
        ...{ messageId: undefined, sentAt: undefined, json: bytes },
      }),
  },
  {
    name: "the body of an SDK request",
    files: [
      ...["src/event/sdk/body.ts", "src/event/sdk/event-facts.ts", "src/event/sdk/id-text.ts"],
      ...["src/json/json-scanner.ts", "src/json/member-names.ts"],
    ],
    frames: [
      ["", ""],
      ['{"batch":[', "0]}"],
      ['{"batch":[{"userId":"', '"}]}'],
      ['{"batch":[{"userId":', "0}]}"],
      ['{"batch":[],"sentAt":"', '"}'],
    ],
    tokens: [
      ...json,
      '{"userId":1},',
      '{"type":"page","userId":"a"},',
      "9",
      "\\uD800",
      " ",
      "\xff",
      "\n",
    ],
    bytesMax: 1 << 20,
    parse(bytes) {
      scanBody(bytes, true);
      scanBody(bytes, false);
    },
  },
  {
    name: "the events of a request of rudder-server",
    files: [
      "src/transformer/custom-transform/request-items.ts",
      "src/transformer/custom-transform/program-request.ts",
    ],
    frames: [
      ["[", "]"],
      ['[{"message":{"a":[', "]}}]"],
      ['[{"destination":{"Transformations":[', "]}}]"],
      ['[{"credentials":[', "]}]"],
    ],
    tokens: [
      '{"message":{},"metadata":{"workspaceId":"w"}},',
      '{"libraries":[{"VersionID":"v"}]},',
      '{"key":"k","value":"v"},',
      ..."[]{},",
      '"\\u0000":',
      " ",
      "\xff",
    ],
    bytesMax: 1 << 20,
    parse(bytes) {
      const items = itemsIn(bytes);
      if ("problem" in items) return;
      for (const group of new Set(items.map((it) => it.group))) programRequest(bytes, group);
    },
  },
  {
    name: "code of which the imported names are asked for",
    files: [
      "src/transformer/requests.ts",
      "src/transformer/test-code/imported-names.ts",
      "src/transformer/test-code/code-tests.ts",
    ],
    frames: [
      ["", ""],
      ["import {", '} from "one"'],
      ["import ", ' from "one"'],
    ],
    tokens: ['import { a as b } from "one";', "a, ", "{", "}", "* as ", " ", "\n", "'", "from"],
    bytesMax: 1 << 18,
    parse(bytes) {
      importedNames("javascript", bytes.toString("latin1"), ["one"]);
    },
  },
  {
    name: "the gzip body of an SDK request",
    files: ["src/ingest/sdk/body-content.ts"],
    frames: [
      ["", ""],
      ["\x1f\x8b\x08\0\0\0\0\0\0\x03", "\x03\0\0\0\0\0\0\0\0\0"],
      ["\x1f\x8b\x08\x08\0\0\0\0\0\x03", "\0\x03\0\0\0\0\0\0\0\0\0"],
    ],
    // An empty gzip member, a block of one byte, an empty block, the end of the data, a trailer.
    tokens: [
      "\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0",
      "\0\x01\0\xfe\xffa",
      "\0\0\0\xff\xff",
      "\x03\0",
      "\0\0\0\0\0\0\0\0",
      "a",
      "\xff",
    ],
    bytesMax: 1 << 20,
    parse: (bytes) => bodyContent({ header: () => "gzip", body: () => bytes }),
  },
  {
    name: "requests to the data plane",
    files: [
      "src/http/connection.ts",
      "src/http/head.ts",
      "src/http/body.ts",
      "src/http/request-reader.ts",
    ],
    frames: [
      ["", ""],
      ["GET /", ""],
      ["GET / HTTP/1.1\r\nHost: a\r\n", ""],
      ["GET / HTTP/1.1\r\nHost: a\r\nX: ", "\r\n\r\n"],
      ["GET / HTTP/1.1\r\nHost: a\r\nConnection: ", "\r\n\r\n"],
      ["POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n\r\n", ""],
      ["POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", ""],
      ["POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nF000\r\n", ""],
    ],
    tokens: [
      ...headers,
      "\r\n",
      "1\r\na\r\n",
      "0\r\n",
      "1;a\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ],
    bytesMax: 64_000,
    parse(bytes, isDripped) {
      const connection = httpConnection();
      // The connection takes over what it gets.
      feed(bytes, isDripped, (piece) => connection.receive(Buffer.from(piece)));
    },
  },
  {
    name: "X-Forwarded-For",
    files: ["src/ingest/client-address.ts"],
    frames: [["", ""]],
    tokens: [",", " ", "1.2.3.4,", "[", "[::1]:80,", ":", "%", "1", "a"],
    bytesMax: 256_000,
    parse: (bytes) => trusted.of({ peer: "192.0.2.1", header: () => bytes.toString("latin1") }),
  },
  {
    name: "If-Match of an API request",
    files: ["src/api/request/preconditions.ts"],
    frames: [
      ["", ""],
      ['"', ""],
    ],
    tokens: [",", " ", "\t", '"', '"a"', 'W/"', "W/", "W", "a", "*", "\x01", "\x80"],
    bytesMax: 256_000,
    parse: (bytes) => parseTags(bytes.toString("latin1")),
  },
  {
    name: "JSON of an API request",
    files: ["src/api/request/body.ts", "src/api/request/json-shape.ts"],
    frames: [
      ["", ""],
      ['{"a":[', "]}"],
    ],
    tokens: json,
    bytesMax: 512_000,
    parse(bytes) {
      const text = bytes.toString();
      expectJsonShape(text);
      JSON.parse(text);
    },
  },
  {
    name: "strings without an end in Python code",
    files: ["src/catalog/code/imports.ts"],
    frames: [["", ""]],
    tokens: ['\\"', "\\'"],
    // The engine ends longer searches after a number of steps.
    bytesMax: 20_000,
    parse: (bytes) => importsOf("python", bytes.toString("latin1")),
  },
  {
    name: "query and cookies of an API request",
    files: ["src/api/request/validation.ts", "src/api/request/session-cookie.ts"],
    frames: [["", ""]],
    tokens: [";", "=", " ", "a", "a=b;", "pixelmill-session=a;", "&", "a&", "%", "limi="],
    bytesMax: 128_000,
    parse(bytes) {
      const text = bytes.toString("latin1");
      try {
        sessionSecret(new Headers({ cookie: text }));
      } catch {}
      readQuery(Type.Object({ limit: Type.Optional(Type.String()) }), `/v2/a?${text}`);
    },
  },
  {
    name: "a response of a receiver",
    files: ["src/egress/response-reader.ts", "src/egress/chunked-decoder.ts"],
    frames: [
      ["HTTP/1.1 200 OK\r\n", ""],
      ["HTTP/1.1 200 OK\r\nX: ", "\r\n\r\n"],
      ["HTTP/1.1 200 OK\r\nConnection: ", "\r\n\r\n"],
      ["HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n", ""],
      ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", ""],
      ["HTTP/1.1 200 OK\r\n\r\n", ""],
    ],
    tokens: [...headers, "\r\n", "1\r\na\r\n", "1;a=b\r\na\r\n", "F", "HTTP/1.1 100 A\r\n\r\n"],
    bytesMax: 16_000,
    parse(bytes, isDripped) {
      const reader = new ResponseReader("GET", 65_536);
      feed(bytes, isDripped, (piece) => reader.push(piece));
      reader.end();
    },
  },
  {
    name: "Retry-After of a receiver",
    files: ["src/destinations/retry-after.ts"],
    frames: [
      ["", ""],
      ["Sat, 21 Nov 2026 ", ""],
    ],
    tokens: ["1", " ", ",", ":", "a", "(", "-"],
    bytesMax: 16_000,
    parse: (bytes) => retryAfterMs(bytes.toString("latin1"), 0),
  },
  {
    name: "a token of an OAuth server",
    files: ["src/destinations/webhook/oauth/access-tokens.ts"],
    frames: [
      ["", ""],
      ['{"access_token":"', '"}'],
      ['{"error":"', '"}'],
    ],
    tokens: json,
    bytesMax: 65_000,
    async parse(bytes) {
      const egress = { request: async () => ({ ...answer(bytes), status: 200 }) };
      const tokens = new AccessTokens({
        egress: egress as unknown as Egress,
        workspaceId: "w",
        timeoutMs: 1_000,
        kept: new KeptTokens(),
        key: "",
        config: { tokenUrl: "http://a/", clientId: "a", clientSecret: "b" },
      });
      await tokens.acquire(new AbortController().signal);
    },
  },
  {
    name: "an answer of an S3 server",
    files: ["src/destinations/s3/failures.ts"],
    frames: [["", ""]],
    tokens: ["<Code>", "<", "a", "<Code>a", "</Code>", " ", "\n"],
    bytesMax: 512_000,
    parse: (bytes) => storeFailure("PUT", answer(bytes)),
  },
  {
    name: "the keys that a store of backups lists",
    files: ["src/backup/bucket/listing.ts"],
    frames: [["", ""]],
    tokens: [
      "<Contents>",
      "</Contents>",
      "<Upload>",
      "<Key>",
      "</Key>",
      "<Size>",
      "&amp;",
      "a",
      "<",
    ],
    bytesMax: 512_000,
    parse: (bytes) => [listPage(bytes.toString("latin1")), uploadsPage(bytes.toString("latin1"))],
  },
  {
    name: "an answer of ClickHouse",
    files: ["src/destinations/clickhouse/failures.ts", "src/destinations/clickhouse/database.ts"],
    frames: [
      ["", ""],
      ["Code: 60. DB::Exception: ", ""],
    ],
    tokens: ["Code: ", "1", ".", " ", "a", "\n", "\t", "\xff"],
    bytesMax: 512_000,
    parse: (bytes) => clickhouseFailure(answer(bytes)),
  },
  {
    name: "messages of PostgreSQL",
    files: [
      "src/destinations/frame-reader.ts",
      "src/destinations/postgres/protocol.ts",
      "src/destinations/postgres/postgres-session.ts",
    ],
    frames: [
      ["", ""],
      ["D\0\x07\xff\xff", ""],
      ["E\0\x07\xff\xff", ""],
    ],
    tokens: [...wire, "Z\0\0\0\x05I", "D\0\0\0\x06\0\0"],
    bytesMax: 64_000,
    parse(bytes, isDripped) {
      const reader = new PostgresMessageReader(1 << 20);
      feed(bytes, isDripped, (piece) => {
        for (const { type, body } of reader.read(piece)) if (type === "D") rowOf(body);
      });
      errorFields(bytes);
      rowOf(bytes);
    },
  },
  ...["metadataV12", "fetchV17", "joinGroupV9"].map((name) => ({
    name: `${name} of a Kafka broker`,
    files: [
      ...["src/kafka/bounded-reader.ts", "src/kafka/bounded-connections.ts"],
      ...["src/kafka/copy-compression.ts", "src/destinations/kafka/broker-connection.ts"],
      "src/cluster/membership/introduction.ts",
    ],
    frames: [
      ["", ""],
      ["\0\0\0\0\xff\xff\x03", ""],
      ["\0\0\0\0\x02", ""],
    ] as [string, string][],
    tokens: [
      ...wire,
      "\0\0\0\x01\x02a\0\0\0\x01\0\0",
      "\xff\xff\xff\xff\x07",
      "\xfa\xff\xff\xff\x0f",
    ],
    bytesMax: 32_000,
    parse(bytes: Buffer, isDripped: boolean) {
      const lengths = new AnswerLengths();
      try {
        feed(bytes, isDripped, (piece) => lengths.expect(piece));
      } catch {}
      const { key, version, read } = kinds.get(name)!;
      const pieces: Buffer[] = [];
      feed(bytes, isDripped, (piece) => pieces.push(piece));
      const reader = kafka.Reader.from(kafka.Writer.create().buffer);
      for (const piece of pieces) reader.buffer.append(piece);
      return boundedAnswer(kafka, read)(0, key, version, reader);
    },
  })),
  {
    name: "frames of a guest",
    files: ["src/sandbox/protocol/guest-frames.ts", "src/sandbox/protocol/reply-parser.ts"],
    frames: [
      ["", ""],
      ['{"kind":"ran","counts":[1000],"errors":[],"logs":[]}\n', ""],
      ['{"kind":"ran","counts":[1],"errors":[],"logs":[', "]}\n"],
    ],
    tokens: [...json, "{}\n", "\n", '{"text":"a"},', '{"text":"\x1b[0"},'],
    bytesMax: 512_000,
    parse(bytes, isDripped) {
      const reader = new GuestFrameReader();
      const length = Buffer.alloc(4);
      length.writeUInt32LE(bytes.length);
      const frames: Buffer[] = [];
      feed(Buffer.concat([length, bytes]), isDripped && bytes.length < 100_000, (piece) => {
        reader.push(piece);
        const frame = reader.next(5 << 20);
        if (frame) frames.push(frame);
      });
      for (const frame of frames) parseRunReply(decodeGuestReply(frame), 1, 1_000);
    },
  },
  {
    name: "host calls of a guest",
    files: ["src/sandbox/host-calls/host-calls.ts"],
    frames: [
      ["[", "]"],
      ['[{"id":1,"headers":{', "}}]"],
    ],
    tokens: [...json, '{"id":1,"ip":""},', '"a":"b",'],
    bytesMax: 512_000,
    parse: (bytes) => new HostCalls({}, "w").exchange(bytes),
  },
];
