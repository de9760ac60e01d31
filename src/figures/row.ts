/**
 * Figures of one item, such as a destination, over one span of time: counts, lag, then an index and
 * a count for each latency bucket that is not empty. Missing numbers at the end are 0.
 */
export type FigureRow = readonly number[];

/** Indexes of the columns of a row: first the counts, then the lag. */
export const RECEIVED = 0;
export const DELIVERED = 1;
export const DROPPED = 2;
export const FAILED = 3;
export const RETRIED = 4;
/**
 * Index of the number of repeated events in a source's row. An event is repeated if the source had
 * sent its messageId before. In a destination's row, the same column is `RETRIED`.
 */
export const REPEATED = 4;
export const LAG_EVENTS = 5;
export const LAG_SECONDS = 6;
/**
 * Index in a row of the first pair of the histogram. A pair is the number of a bucket and its
 * count.
 */
const HISTOGRAM = 7;

/** Number of counts at the start of a row; `counters` of `rowOf` starts with the same counts. */
export const COUNTS = 5;

/**
 * Upper bounds of the histogram's buckets in milliseconds. Each is 1.5 times the one before. All
 * rows have the same buckets, so that a quantile of merged rows is as exact as that of one row.
 */
const BUCKETS_MS = Array.from({ length: 28 }, (_, at) => 1.5 ** at);

/** Number of counters for a row with a histogram: the counts, then one for each bucket. */
export const COUNTERS = COUNTS + BUCKETS_MS.length;

/** Returns the index of the counter for the histogram bucket of a latency in milliseconds. */
export function latencyCounter(ms: number): number {
  const bucket = BUCKETS_MS.findIndex((end) => ms <= end);
  return COUNTS + (bucket < 0 ? BUCKETS_MS.length - 1 : bucket);
}

/**
 * Makes a row from `counters`: the counts, followed by one counter per histogram bucket if the
 * series has a histogram.
 */
export function rowOf(counters: ArrayLike<number>, lag = NO_LAG): FigureRow {
  const row = Array.from({ length: COUNTS }, (_, index) => counters[index] ?? 0);
  row.push(lag.events, lag.seconds);
  for (let index = COUNTS; index < counters.length; index += 1) {
    const count = counters[index]!;
    if (count > 0) row.push(index - COUNTS, count);
  }
  return withoutTrailingZeros(row);
}

/**
 * Lag of a lane (the delivery to one destination): number of its unsettled events (neither
 * delivered nor given up), and age in seconds of the oldest of them.
 */
export interface Lag {
  events: number;
  seconds: number;
}

const NO_LAG: Lag = { events: 0, seconds: 0 };

/**
 * Merges the rows that two nodes recorded in one minute. Adds up all counts, also that of the
 * unsettled events, because each node counts different partitions. Takes the larger age of the
 * oldest unsettled event.
 */
export function mergeNodes(one: FigureRow, other: FigureRow): FigureRow {
  return merge(one, other, (a, b) => a + b);
}

/**
 * Merges the rows of two minutes or hours. Adds up their counts and histograms. For the number of
 * unsettled events and the age of the oldest one, takes the larger of the two values.
 */
export function mergeTimes(one: FigureRow, other: FigureRow): FigureRow {
  return merge(one, other, Math.max);
}

function merge(
  one: FigureRow,
  other: FigureRow,
  lagEvents: (a: number, b: number) => number,
): FigureRow {
  const merged: number[] = [];
  for (let index = 0; index < COUNTS; index += 1) {
    merged.push((one[index] ?? 0) + (other[index] ?? 0));
  }
  merged.push(lagEvents(one[LAG_EVENTS] ?? 0, other[LAG_EVENTS] ?? 0));
  merged.push(Math.max(one[LAG_SECONDS] ?? 0, other[LAG_SECONDS] ?? 0));
  mergeHistograms(merged, one, other);
  return withoutTrailingZeros(merged);
}

/** Merges the histograms of two rows, and appends the result to `merged`, sorted by bucket. */
function mergeHistograms(merged: number[], one: FigureRow, other: FigureRow): void {
  for (let a = HISTOGRAM, b = HISTOGRAM; a < one.length || b < other.length; ) {
    const bucketOfOne = one[a] ?? Number.POSITIVE_INFINITY;
    const bucketOfOther = other[b] ?? Number.POSITIVE_INFINITY;
    const bucket = Math.min(bucketOfOne, bucketOfOther);
    let count = 0;
    if (bucketOfOne === bucket) {
      count += one[a + 1] ?? 0;
      a += 2;
    }
    if (bucketOfOther === bucket) {
      count += other[b + 1] ?? 0;
      b += 2;
    }
    merged.push(bucket, count);
  }
}

function* histogramOf(row: FigureRow): Generator<[bucket: number, count: number]> {
  for (let index = HISTOGRAM; index + 1 < row.length; index += 2) {
    yield [row[index]!, row[index + 1]!];
  }
}

/**
 * Removes zeros from the end of a row without histogram. Returns other rows unchanged: a row with a
 * histogram ends with a count above 0.
 */
function withoutTrailingZeros(row: number[]): number[] {
  if (row.length > HISTOGRAM) return row;
  while (row.at(-1) === 0) row.pop();
  return row;
}

/**
 * Returns the number of latencies that a row's histogram counts: one for each attempt to deliver to
 * a destination, or for each run of a transformation.
 */
export function latencies(row: FigureRow): number {
  return histogramOf(row).reduce((sum, [, count]) => sum + count, 0);
}

/**
 * Estimates a quantile of the latencies in a row. Returns the upper bound, in milliseconds, of the
 * bucket that contains the quantile; undefined for a row without latencies.
 */
export function latencyQuantile(row: FigureRow, fraction: number): number | undefined {
  const rank = Math.ceil(fraction * latencies(row));
  if (rank === 0) return undefined;
  let seen = 0;
  for (const [bucket, count] of histogramOf(row)) {
    seen += count;
    if (seen >= rank) return Math.round(BUCKETS_MS[bucket]!);
  }
  return undefined;
}
