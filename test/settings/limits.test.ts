import { expect, test } from "bun:test";
import { FILE_LINE_BYTES_MAX } from "../../src/destinations/file/limits.ts";
import { INGEST_CLOSE_MS_MAX } from "../../src/ingest/limits.ts";
import { LOG_BLOCK_BYTES_MAX } from "../../src/log/block.ts";
import { LOG_SEGMENT_BYTES_MAX } from "../../src/log/writer-options.ts";
import { LANE_UNCOMMITTED_EVENTS_MAX } from "../../src/pipeline/memory-budget.ts";
import { TOPOLOGY_POLL_MS } from "../../src/pipeline/partition-pipeline.ts";
import { TRIM_AGE_MS_MIN } from "../../src/pipeline/retention/trimmer.ts";
import { GUEST_INPUT_BYTES_MAX } from "../../src/sandbox/batch/frame-events.ts";
import { GUEST_FRAME_BYTES_MAX } from "../../src/sandbox/guest-limits.ts";
import {
  GUEST_PYTHON_RECYCLE_MEMORY_BYTES,
  GUEST_RECYCLE_MEMORY_BYTES,
} from "../../src/sandbox/process/language-profiles.ts";
import * as limits from "../../src/settings/limits.ts";
import { limitGroups } from "../docs/reference/limits.ts";

/** UTF-8 of one UTF-16 unit at most. */
const BYTES_PER_CHAR = 3;
/** JSON of one character at most: `\u0000`. */
const ESCAPED_CHARS = 6;

const relations: [why: string, smaller: number, larger: number][] = [
  [
    "a pixel's URL fits into the head of a request",
    limits.PIXEL_TARGET_BYTES_MAX,
    limits.HTTP_HEAD_BYTES_MAX,
  ],
  [
    "one request that waits is not too much for all",
    limits.HTTP_HEAD_BYTES_MAX,
    limits.HTTP_WAITING_BYTES_MAX,
  ],
  [
    "a block of the log holds many of the largest pixels",
    10 * limits.PIXEL_TARGET_BYTES_MAX,
    LOG_BLOCK_BYTES_MAX,
  ],
  ["a segment holds many blocks", 10 * LOG_BLOCK_BYTES_MAX, LOG_SEGMENT_BYTES_MAX],
  [
    "ingest, or requests, and then attempts have ended before the whole server must have",
    Math.max(INGEST_CLOSE_MS_MAX, limits.DRAIN_MS_MAX) + limits.DRAIN_MS_MAX,
    limits.SHUTDOWN_MS_MAX - 500,
  ],
  ["code fits into a body, escaped as usual", 2 * limits.CODE_BYTES_MAX, limits.BODY_BYTES_MAX],
  [
    "a batch fits into a lane's window",
    limits.TRANSFORM_BATCH_EVENTS_MAX,
    limits.LANE_IN_FLIGHT_EVENTS_MAX,
  ],
  [
    "a full window is not waiting for commits alone",
    limits.LANE_IN_FLIGHT_EVENTS_MAX,
    LANE_UNCOMMITTED_EVENTS_MAX,
  ],
  ["a new connection is seen before its start is trimmed", 10 * TOPOLOGY_POLL_MS, TRIM_AGE_MS_MIN],
  [
    "the output of one run fits into a frame",
    BYTES_PER_CHAR * limits.GUEST_OUTPUT_CHARS_MAX,
    GUEST_FRAME_BYTES_MAX,
  ],
  [
    "an event is a line of a file",
    BYTES_PER_CHAR * limits.GUEST_OUTPUT_CHARS_MAX,
    FILE_LINE_BYTES_MAX,
  ],
  ["a batch fits into a frame", GUEST_INPUT_BYTES_MAX, GUEST_FRAME_BYTES_MAX],
  [
    "an answer fits into a frame",
    ESCAPED_CHARS * limits.FETCH_ANSWER_BYTES_MAX,
    GUEST_FRAME_BYTES_MAX,
  ],
  ["the clock on the wall is the longer one", limits.GUEST_CPU_MS_MAX, limits.GUEST_WALL_MS_MAX],
  [
    "a guest is replaced before it is killed",
    GUEST_RECYCLE_MEMORY_BYTES,
    limits.GUEST_MEMORY_BYTES_MAX,
  ],
  [
    "a Python guest is replaced before it is killed",
    GUEST_PYTHON_RECYCLE_MEMORY_BYTES,
    limits.GUEST_PYTHON_MEMORY_BYTES_MAX,
  ],
];

test.each(relations)("limits agree: %s", (_, smaller, larger) => {
  expect(smaller).toBeLessThan(larger);
});

test("each limit's text is understandable without its neighbours", async () => {
  const limitsOfGroups = [...(await limitGroups()).values()].flat();
  const meanings = limitsOfGroups.map(({ meaning }) => meaning);
  const leaning = /^(\*|And |That |Of that|The same|All of these|Such |(The )?longest such)|§/i;
  expect(meanings.length).toBeGreaterThan(80);
  expect(meanings.filter((meaning) => leaning.test(meaning))).toEqual([]);
});
