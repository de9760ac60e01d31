/**
 * Measures user code in Python: a guest against the same function in CPython, called in a loop with
 * json (where `python3` is installed), in alternating rounds; guests that ended during the run;
 * cold starts from source to first result; test runs; memory. Runs `dist/pixelmill` if it is built,
 * else the checkout. The floor of batches of one event is CPython that gets each event through such
 * a socket as a guest's, and answers it before it gets the next.
 */
import { closeSync, existsSync, readFileSync } from "node:fs";
import { pino } from "pino";
import { Registry } from "prom-client";
import { createSandbox } from "../src/sandbox/guest-sandbox.ts";
import { GuestSocket, socketPair } from "../src/sandbox/process/guest-socket.ts";
import { type Program, type ProgramBatch, unsharedMetadata } from "../src/sandbox/program.ts";
import { TestBudget } from "../src/sandbox/test-budget.ts";
import { median } from "./load.ts";
import { report } from "./report.ts";

const ROUNDS = 5;
const ROUND_MS = 1_500;
const COLD_STARTS = 15;
const TEST_RUNS = 10;
/** Longer than the start of a guest. */
const TEST_PAUSE_MS = 1_500;
const EVENTS = 512;
const CLOCK_TICKS = 100;
const NEWLINE = 0x0a;
const executable = `${import.meta.dir}/../dist/pixelmill`;
const guestCommand = existsSync(executable)
  ? [executable, "guest"]
  : [process.execPath, `${import.meta.dir}/../src/main.ts`, "guest"];

const code = `
import hashlib
import re

PAYING = re.compile(r"^(pro|team)$")


def transformEvent(event, metadata):
    properties = event["properties"]
    if properties.get("internal"):
        return None
    traits = event["context"]["traits"]
    traits["email"] = hashlib.sha256(traits["email"].lower().encode()).hexdigest()
    properties["total"] = sum(item["price"] * item["quantity"] for item in properties["items"])
    properties["paying"] = bool(PAYING.match(traits["plan"]))
    event["source"] = metadata(event).get("sourceId")
    return event
`;

const program: Program = {
  id: "bench",
  workspaceId: "bench",
  language: "python",
  name: "bench",
  code,
  libraries: [],
  credentials: {},
};

const texts = Array.from({ length: EVENTS }, (_, n) => JSON.stringify(event(n)));

const metrics = new Registry();
const sandbox = openSandbox(metrics);
const cpython = Bun.which("python3");
const rounds = new Map<string, Round[]>();
let version = "";
for (let round = 0; round < ROUNDS; round += 1) {
  if (cpython) {
    keep("CPython", await roundOfCpython(cpython));
    keep("CPython, one event at a time", await roundOfSocket(cpython));
  }
  for (const size of [1, 10, 100]) keep(`guest, batches of ${size}`, await roundOfGuest(size));
  // Destinations of one workspace share a guest. With two of them it need not sleep between
  // batches.
  keep("guest, batches of 1 of two destinations", await roundOfGuest(1, 2));
}
// Each ended guest is a cold start that delayed a batch.
const died = await endedGuests();
const loaded = Math.max(...guests().map(({ mebibytes }) => mebibytes));
await sandbox.close();

const starts: number[] = [];
let idle = 0;
for (let n = 0; n < COLD_STARTS; n += 1) starts.push(await coldStart());

const tests = openSandbox();
await testRun();
const pausedTests: number[] = [];
const denseTests: number[] = [];
for (let n = 0; n < TEST_RUNS; n += 1) {
  await Bun.sleep(TEST_PAUSE_MS);
  pausedTests.push(await testRun());
  denseTests.push(await testRun());
}
await tests.close();

const reference = summary("CPython");
const rows: Record<string, string | number>[] = [];
for (const name of rounds.keys()) {
  const { rate, cpuRate } = summary(name);
  rows.push({
    measure: name === "CPython" ? `CPython ${version}, json in a loop` : name,
    value: `${Math.round(rate)} events/s`,
    "ratio to CPython": (rate / reference.rate).toFixed(2),
    "events per CPU second": Math.round(cpuRate),
    "CPU ratio to CPython": (cpuRate / reference.cpuRate).toFixed(2),
  });
}
rows.push({
  measure: "cold start to first result, p50",
  value: `${Math.round(median(starts))} ms`,
});
rows.push({
  measure: "cold start to first result, maximum",
  value: `${Math.round(Math.max(...starts))} ms`,
});
rows.push({
  measure: "test run after a pause, p50",
  value: `${Math.round(median(pausedTests))} ms`,
});
rows.push({
  measure: "test run right after another, p50",
  value: `${Math.round(median(denseTests))} ms`,
});
rows.push({ measure: "guests that ended under load", value: `${died}` });
rows.push({ measure: "memory after the first result", value: `${idle} MiB` });
rows.push({ measure: "memory under load", value: `${loaded} MiB` });
await report("python", rows);

interface Round {
  rate: number;
  /** Events per second of CPU time, which is comparable on a shared machine. */
  cpuRate: number;
}

function openSandbox(metrics = new Registry()) {
  const log = pino({ level: "silent" });
  return createSandbox({ guestCommand, insecure: false, log, metrics });
}

/**
 * Runs batches of `size` events one after another, in as many loops as there are `destinations`.
 */
async function roundOfGuest(size: number, destinations = 1): Promise<Round> {
  const batches = Array.from({ length: Math.ceil(EVENTS / size) }, (_, n) =>
    batchOf(texts.slice(n * size, (n + 1) * size)),
  );
  let count = 0;
  const cpuBefore = cpuSeconds();
  const start = performance.now();
  const loop = async (first: number) => {
    for (let n = first; performance.now() - start < ROUND_MS; n += destinations) {
      const outcomes = await sandbox.run(program, batches[n % batches.length]!);
      if (!("events" in outcomes[0]!)) throw new Error(outcomes[0]!.error.message);
      count += outcomes.length;
    }
  };
  await Promise.all(Array.from({ length: destinations }, (_, n) => loop(n)));
  const seconds = (performance.now() - start) / 1_000;
  return { rate: count / seconds, cpuRate: count / (cpuSeconds() - cpuBefore) };
}

async function roundOfCpython(python: string): Promise<Round> {
  const child = Bun.spawn([python, `${import.meta.dir}/python.py`], { stdin: "pipe" });
  child.stdin.write(`${JSON.stringify({ code, events: texts, seconds: ROUND_MS / 1_000 })}\n`);
  child.stdin.end();
  const answer = (await new Response(child.stdout).json()) as Round & { version: string };
  version = answer.version;
  return answer;
}

/** Sends events to CPython through a socket, each after the answer to the one before. */
async function roundOfSocket(python: string): Promise<Round> {
  const [fd, childFd] = socketPair();
  const child = Bun.spawn([python, `${import.meta.dir}/python.py`], {
    stdin: childFd,
    stdout: childFd,
  });
  closeSync(childFd);
  let answered = Promise.withResolvers<void>();
  const socket = new GuestSocket(fd, {
    onChunk: (chunk) => chunk.at(-1) === NEWLINE && answered.resolve(),
    onEnd: () => answered.reject(new Error("CPython has ended")),
  });
  const ask = (line: string) => {
    answered = Promise.withResolvers();
    socket.send(Buffer.from(`${line}\n`));
    return answered.promise;
  };
  socket.send(Buffer.from(`${JSON.stringify({ code })}\n`));
  for (let n = 0; n < EVENTS; n += 1) await ask(texts[n]!);
  const cpu = () => cpuSecondsOf(readFileSync(`/proc/${child.pid}/stat`, "utf8"));
  const cpuBefore = cpu();
  const start = performance.now();
  let count = 0;
  while (performance.now() - start < ROUND_MS) await ask(texts[count++ % EVENTS]!);
  const rate = (count / (performance.now() - start)) * 1_000;
  const cpuRate = count / (cpu() - cpuBefore);
  socket.close();
  await child.exited;
  return { rate, cpuRate };
}

/** Measures a cold start: the pool keeps no spare Python guest before the first use. */
async function coldStart(): Promise<number> {
  const cold = openSandbox();
  const start = performance.now();
  await cold.run(program, batchOf(texts.slice(0, 1)));
  const took = performance.now() - start;
  idle = Math.max(...guests().map(({ mebibytes }) => mebibytes));
  await cold.close();
  return took;
}

/** Measures a test run as the API makes it: parses the code for its imports, then runs it. */
async function testRun(): Promise<number> {
  const start = performance.now();
  using budget = new TestBudget();
  await tests.inspect(program.workspaceId, program.language, program.code, budget);
  const { outcomes } = await tests.check(program, batchOf(texts.slice(0, 2)), budget);
  if (!("events" in outcomes[0]!)) throw new Error(outcomes[0]!.error.message);
  return performance.now() - start;
}

async function endedGuests(): Promise<number> {
  const { values } = (await metrics.getMetricsAsJSON()).find(
    ({ name }) => name === "pixelmill_guest_ends_total",
  )!;
  return (values as { value: number }[]).reduce((sum, { value }) => sum + value, 0);
}

function batchOf(events: string[]): ProgramBatch {
  return {
    events: events.map((text) => Buffer.from(text)),
    metadata: events.map(() => unsharedMetadata({ sourceId: "s1", workspaceId: "bench" })),
  };
}

/**
 * Lists Python guests, the spare included. A sandboxed process hides its PSS: the figure is its
 * anonymous memory, which is private; shared memory is 35 MB in total.
 */
function guests(): { cpuSeconds: number; mebibytes: number }[] {
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8");
  return children
    .trim()
    .split(" ")
    .filter((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").endsWith("python\0"))
    .map((pid) => {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      return {
        cpuSeconds: cpuSecondsOf(readFileSync(`/proc/${pid}/stat`, "utf8")),
        mebibytes: Math.round(Number(/RssAnon:\s+(\d+)/.exec(status)?.[1]) / 1_024),
      };
    });
}

function cpuSecondsOf(stat: string): number {
  const fields = stat.split(" ");
  return (Number(fields[13]) + Number(fields[14])) / CLOCK_TICKS;
}

function cpuSeconds(): number {
  return guests().reduce((sum, guest) => sum + guest.cpuSeconds, 0);
}

function keep(name: string, round: Round): void {
  rounds.set(name, [...(rounds.get(name) ?? []), round]);
}

function summary(name: string): Round {
  const all = rounds.get(name) ?? [];
  return {
    rate: median(all.map(({ rate }) => rate)),
    cpuRate: median(all.map(({ cpuRate }) => cpuRate)),
  };
}

/** Order event of about 1.7 KB. */
function event(n: number) {
  return {
    messageId: `m${n}`,
    type: "track",
    event: "Order Completed",
    channel: "web",
    userId: `u${n % 97}`,
    anonymousId: `a${n}`,
    context: {
      library: { name: "pixel", version: "1.0.0" },
      locale: "de-CH",
      userAgent:
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
      screen: { width: 1920, height: 1080, density: 2 },
      page: {
        path: "/checkout/done",
        url: "https://shop.example.com/checkout/done?step=4",
        referrer: "https://shop.example.com/checkout",
        title: "Danke — Example Shop",
      },
      traits: { email: `User${n}@example.com`, plan: n % 2 ? "pro" : "free", name: "Zoë Müller" },
      campaign: { source: "newsletter", medium: "email", name: "winter" },
    },
    properties: {
      orderId: `o${n}`,
      currency: "CHF",
      revenue: 129.9,
      items: Array.from({ length: 6 }, (_, item) => ({
        sku: `sku-${n}-${item}`,
        name: `Product number ${item}`,
        category: "garden/tools",
        price: 9.95 + item,
        quantity: 1 + (item % 3),
      })),
    },
    integrations: { All: true },
    originalTimestamp: "2026-02-03T10:11:12.345Z",
    sentAt: "2026-02-03T10:11:12.345Z",
    receivedAt: "2026-02-03T10:11:12.345Z",
    request_ip: "203.0.113.7",
  };
}
