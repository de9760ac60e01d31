import { QUERY } from "../../bench/parse-query.ts";
import { eventOf, writeEvent } from "../../src/event/event.ts";
import { inspectQuery } from "../../src/event/inspect.ts";
import { eventRecordCodec, type JsonRecord } from "../../src/event/record.ts";
import { outlineOf } from "../../src/event/sdk/outline.ts";
import { recordOf } from "./agreement.ts";
import { growthOf } from "./growth.ts";

/** `BUN_JSC_useGC=0 bun allocation-child.ts WORK COUNT`: bytes of growth per operation. */
const record = { ...recordOf(QUERY, "track"), clientAddress: "203.0.113.9" };
/** Not in the order of its objects, so that it goes through the tree. */
const shuffled = { ...record, query: QUERY.split("&").toSorted().toReversed().join("&x=1&") };
const block = Buffer.allocUnsafeSlow(1 << 20);
const json = Buffer.from(eventOf(record).json);
const jsonRecord: JsonRecord = {
  ...{ format: "json", type: "track", receivedAt: 5, sentAt: 4, messageId: undefined, json },
  ...{ sourceId: "0123456789ABCabcXYZxyz01234", clientAddress: "203.0.113.9" },
};
const works: Record<string, () => unknown> = {
  event: () => writeEvent(record),
  tree: () => writeEvent(shuffled),
  encode: () => eventRecordCodec.encode(record, block, 0),
  outline: () => outlineOf(json),
  encodeJson: () => eventRecordCodec.encode(jsonRecord, block, 0),
  inspect: () => inspectQuery(QUERY, "track"),
  /** The positive control: what the plainest parser of the platform allocates. */
  control: () => [...new URLSearchParams(QUERY)],
};

process.stdout.write(`${await growthOf(works[process.argv[2]!]!, Number(process.argv[3]))}\n`);
