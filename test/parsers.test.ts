import { afterAll, describe, expect, spyOn, test } from "bun:test";
import { Glob } from "bun";
import { Random } from "./kafka/random-answers.ts";
import { type RemoteParser, remoteParsers } from "./parsers-of-remote-bytes.ts";
import { runs } from "./tier.ts";

/**
 * Whether parsers take time and memory in proportion to their bytes. One input is compared with
 * eight of an eighth of its size: they take the same time when it is linear, an eighth when it is
 * quadratic.
 */
const SHARES = 8;
/** Above it a parser counts as not linear; fixed costs and caches only lower the quotient. */
const QUOTIENT_MAX = 4;
/** An input that is read in less time, in milliseconds, is not worth comparing. */
const WALL_MS_MIN = 8;
/**
 * Time of CPU, in microseconds, that a comparison sums up: some kernels count in steps of 10 ms.
 */
const CPU_US_MIN = 60_000;
const CPU_STEP_US = 5_000;
/** Growth of the time for equal bytes when an input doubles: 1 is linear, 2 is quadratic. */
const DOUBLING_MAX = 1.4;
const ROUNDS_MAX = 30;
const SHAPES = runs(4, 30);
/**
 * Most bytes of buffers that a parser may allocate for a byte, and besides: a buffer that doubles
 * takes twice its last size, a buffer for a frame has the frame's declared length, and one for a
 * small frame has 256 bytes.
 */
const ALLOCATED_RATIO_MAX = 64;
const ALLOCATED_BYTES_MIN = 2 << 20;

/** Bytes of all buffers that were allocated since it was set to 0. */
let allocated = 0;
const spies = (["alloc", "allocUnsafe", "allocUnsafeSlow"] as const).map((name) => {
  const own = Buffer[name];
  return spyOn(Buffer, name).mockImplementation(((size: number, ...rest: []) => {
    allocated += size;
    return own(size, ...rest);
  }) as typeof own);
});
const ownConcat = Buffer.concat;
const concat = spyOn(Buffer, "concat").mockImplementation(((list: readonly Buffer[], length) => {
  const joined = ownConcat(list, length);
  allocated += joined.length;
  return joined;
}) as typeof ownConcat);
afterAll(() => {
  for (const spy of [...spies, concat]) spy.mockRestore();
});

/** CPU time of this thread, so that other processes and the collector's threads do not count. */
async function cpuOf(run: () => unknown): Promise<number> {
  const before = process.threadCpuUsage();
  await run();
  const { user, system } = process.threadCpuUsage(before);
  return user + system;
}

function repeated(shape: Shape, bytes: number): Buffer {
  const { before, token, after } = shape;
  const count = Math.max(1, Math.floor((bytes - before.length - after.length) / token.length));
  return Buffer.from(before + token.repeat(count) + after, "latin1");
}

interface Shape {
  before: string;
  token: string;
  after: string;
  isDripped: boolean;
}

/** Every token behind every frame in some runs, then random ones. */
function shapeOf({ frames, tokens }: RemoteParser, random: Random): Shape {
  const [before, after] = random.of(frames);
  const count = random.of([1, 1, 2, 3]);
  const token = Array.from({ length: count }, () => random.of(tokens)).join("");
  return { before, token, after, isDripped: random.below(2) === 0 };
}

/** Parses bytes, whatever comes of it. */
async function attempt(parser: RemoteParser, bytes: Buffer, isDripped: boolean): Promise<void> {
  try {
    await parser.parse(bytes, isDripped);
  } catch {}
}

/**
 * CPU time of equal bytes: of one whole input, two halves, and so on. Sums up rounds until the
 * whole inputs have taken `cpuMin` microseconds.
 */
async function cpuByParts(
  parser: RemoteParser,
  shape: Shape,
  parts: readonly number[],
  cpuMin: number,
): Promise<number[]> {
  const inputs = parts.map((part) => repeated(shape, parser.bytesMax / part));
  const sums = parts.map(() => 0);
  for (let round = 0; round < ROUNDS_MAX && sums[0]! < cpuMin; round++) {
    for (const [index, part] of parts.entries()) {
      sums[index]! += await cpuOf(async () => {
        for (let n = 0; n < part; n++) await attempt(parser, inputs[index]!, shape.isDripped);
      });
    }
  }
  return sums.map((sum) => Math.max(CPU_STEP_US, sum));
}

/**
 * Whether the time grows by more than the bytes at both of the last two doublings. A single step is
 * no growth: a length may be valid in the larger input and refused in the smaller one.
 */
async function growsSteadily(parser: RemoteParser, shape: Shape): Promise<boolean> {
  const sums = await cpuByParts(parser, shape, [1, 2, 4], 5 * CPU_US_MIN);
  const [whole = 0, halves = 0, quarters = 0] = sums;
  return whole > DOUBLING_MAX * halves && halves > DOUBLING_MAX * quarters;
}

/** How much longer an input takes than eight of an eighth. */
async function quotient(parser: RemoteParser, shape: Shape): Promise<number> {
  const whole = repeated(shape, parser.bytesMax);
  allocated = 0;
  const startedAt = performance.now();
  await attempt(parser, whole, shape.isDripped);
  if (allocated > ALLOCATED_RATIO_MAX * whole.length + ALLOCATED_BYTES_MIN) {
    expect({ shape, allocated, bytes: whole.length }).toBe("in proportion" as never);
  }
  if (performance.now() - startedAt < WALL_MS_MIN) return 0;
  const [ofWhole = 0, ofShares = 0] = await cpuByParts(parser, shape, [1, SHARES], CPU_US_MIN);
  return ofWhole / ofShares;
}

describe("bytes of a remote party take time and memory in proportion to their number:", () => {
  test.each(remoteParsers.map((parser) => [parser.name, parser] as const))(
    "%s",
    async (_, parser) => {
      const random = new Random(Number(process.env.SEED ?? 1) + parser.name.length);
      for (let run = 0; run < SHAPES; run++) {
        const shape = shapeOf(parser, random);
        const found = await quotient(parser, shape);
        if (found <= QUOTIENT_MAX || !(await growsSteadily(parser, shape))) continue;
        expect({ shape, quotient: found }).toBe("linear" as never);
      }
    },
    300_000,
  );
});

/** Files that parse what this process or its own storage wrote, or text that a parser bounded. */
const ownBytes = [
  // Files, catalog and log of this process.
  ...["destinations/file/json-lines-file", "api/console-files", "api/client"],
  // Files that the operator names, and an address that the kernel writes.
  ...["destinations/rudder-server/read-definitions", "http/sockets/inherited-socket"],
  // Events, which a query or an output of a guest has bounded.
  ...["destinations/webhook/template", "destinations/webhook/query-url"],
  ...["destinations/webhook/request-overrides", "destinations/tables/event-rows"],
  "destinations/tables/column-values",
  ...["destinations/formats/parquet", "destinations/formats/json-members"],
  ...["destinations/kafka/record", "destinations/kafka/partition", "pipeline/model/input-event"],
  "publishing/testing/suite-result",
  // Parts of a body that `api/request/body` has read, and a cursor of at most a URL's length;
  // events.
  ...[
    "api/routes/code/publish-requests",
    "api/routes/events/search-cursor",
    "api/routes/events/search",
  ],
  // Hands its bytes to the response reader.
  "egress/receiver-connection",
].map((file) => `src/${file}.ts`);

test("every file that reads bytes of a remote party is named in the table", async () => {
  const named = new Set([...ownBytes, ...remoteParsers.flatMap(({ files }) => files)]);
  const unnamed: string[] = [];
  const rooms =
    "{egress,http,ingest,kafka,destinations,api,sandbox,cluster,pipeline,publishing,transformer}";
  for await (const path of new Glob(`src/${rooms}/**/*.ts`).scan(".")) {
    if (path.startsWith("src/sandbox/guest/") || named.has(path)) continue;
    const code = await Bun.file(path).text();
    if (/on\("data"|readU?Int|JSON\.parse\(/.test(code)) unnamed.push(path);
  }
  expect(unnamed).toEqual([]);
  for (const path of named) expect(await Bun.file(path).exists()).toBe(true);
});
