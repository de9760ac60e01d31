import { LOG_BLOCK_BYTES_MAX } from "../../log/block.ts";
import { LOG_SEGMENT_BYTES_MAX } from "../../log/writer-options.ts";
import type { RetentionBounds } from "./retention.ts";

/**
 * Fraction of a retention bound that one log segment may cover. Segments are deleted as a whole, so
 * smaller ones follow the bound more closely.
 */
const SEGMENT_FRACTION = 1 / 16;
const SEGMENT_MS_MIN = 1_000;
export const SEGMENT_MS_MAX = 3_600_000;

/**
 * Returns bounds on the size and the age of a log segment, given the retention bounds and the
 * number of logs.
 */
export function segmentBounds({ ageMsMax, bytesMax }: RetentionBounds, logs: number) {
  const bytes = clamp(
    (bytesMax * SEGMENT_FRACTION) / logs,
    LOG_BLOCK_BYTES_MAX,
    LOG_SEGMENT_BYTES_MAX,
  );
  const ms = clamp(ageMsMax * SEGMENT_FRACTION, SEGMENT_MS_MIN, SEGMENT_MS_MAX);
  return {
    ...(bytesMax > 0 && { segmentBytesMax: Math.floor(bytes) }),
    ...(ageMsMax > 0 && { segmentMsMax: Math.floor(ms) }),
  };
}

const clamp = (value: number, min: number, max: number) => Math.max(min, Math.min(value, max));
