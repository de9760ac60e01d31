import querystring from "node:querystring";
import fastQuerystring from "fast-querystring";
import qs from "qs";
import { writeEvent } from "../src/event/event.ts";
import type { PixelRecord } from "../src/event/record.ts";
import { bytes, JSON_START } from "../src/event/text/scratch.ts";
import { referenceEvent } from "../test/event/reference.ts";
import { QUERY } from "./parse-query.ts";
import { plainEvent } from "./plain-event.ts";

const receivedAt = Date.UTC(2026, 10, 20, 7, 31, 5, 123);
const record: PixelRecord = {
  type: "track",
  receivedAt,
  sourceId: "source",
  clientAddress: "203.0.113.9",
  messageId: new Uint8Array(16).fill(0x77),
  query: QUERY,
};
const frame = {
  messageId: "77777777-7777-7777-7777-777777777777",
  time: new Date(receivedAt).toISOString(),
  request_ip: record.clientAddress,
};
const encoder = new TextEncoder();
/** Options of qs: keys stay flat, up to 1,000 parameters. */
const unlimited = { depth: 0, parameterLimit: 1_000 };

function entries(object: object): [string, string][] {
  return Object.entries(object);
}

/** Functions from the query to the event's JSON bytes, which are the same for all parsers. */
export const toJson: Record<string, () => Uint8Array> = {
  pixelmill: () => bytes.subarray(JSON_START, writeEvent(record)),
  URLSearchParams: () => plainEvent(new URLSearchParams(QUERY), frame),
  "node:querystring": () => plainEvent(entries(querystring.parse(QUERY)), frame),
  "fast-querystring": () => plainEvent(entries(fastQuerystring.parse(QUERY)), frame),
  qs: () => plainEvent(entries(qs.parse(QUERY, unlimited)), frame),
  reference: () => encoder.encode(referenceEvent(record)),
};

/** Functions that the benchmark measures: they build nothing that the parser does not need. */
export const work: Record<string, () => unknown> = {
  ...toJson,
  pixelmill: () => writeEvent(record),
};
