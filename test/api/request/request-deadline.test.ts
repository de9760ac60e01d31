import { afterEach, describe, expect, test } from "bun:test";
import { RequestDeadline } from "../../../src/api/request/request-deadline.ts";
import { routes } from "../../../src/api/route-table.ts";
import type { OrderedLog } from "../../../src/store/ordered/ordered-log.ts";
import { MemoryLog } from "../../store/memory-log.ts";
import { exampleOf, makeThings, sendExample } from "../_examples.ts";
import { startApi, type TestApi } from "../_setup.ts";

const ANSWER_MS_MAX = 1_500;

type Step = "barrier" | "append" | "follow";

/** The steps that do not end until the end of the test. */
class Hang {
  readonly #steps = new Set<Step>();
  #over = Promise.withResolvers<void>();

  begin(...steps: Step[]): void {
    for (const step of steps) this.#steps.add(step);
  }

  end(): void {
    this.#over.resolve();
  }

  async at(step: Step): Promise<void> {
    if (this.#steps.has(step)) await this.#over.promise;
  }
}

/** A log of the catalog's changes, of which a step can hang. */
function hangingLog(hang: Hang): OrderedLog {
  const log = new MemoryLog({ delayMs: () => 0 });
  return {
    async append(entry) {
      await hang.at(entry.length === 0 ? "barrier" : "append");
      return await log.append(entry);
    },
    knownEnd: () => log.knownEnd(),
    trim: (position) => log.trim(position),
    follow: (position, take) =>
      log.follow(position, async (entries) => {
        await hang.at("follow");
        await take(entries);
      }),
    trouble: () => undefined,
  };
}

const isOfProcess = ({ needs, method }: (typeof routes)[number]) =>
  needs === "open" && method === "GET";

describe("an API request", () => {
  let api: TestApi;
  let hang: Hang;

  afterEach(async () => {
    hang.end();
    await api.stop();
  });

  async function open(more: Parameters<typeof startApi>[0] = {}): Promise<void> {
    hang = new Hang();
    api = await startApi({ answerMsMax: ANSWER_MS_MAX, ...more }, { order: hangingLog(hang) });
  }

  test("is answered 503 in time, on every route of stored data, while the log's end is not proved", async () => {
    // A loaded machine makes the things within its time, too.
    await open({ answerMsMax: 2 * ANSWER_MS_MAX });
    const things = await makeThings(api);
    hang.begin("barrier", "append");
    const answers = routes.map(async (route) => {
      const sent = { unchecked: true };
      const { status, headers } = await sendExample(api, exampleOf(route, things), sent);
      return [route.key, status, headers.get("retry-after")];
    });
    expect(await Promise.all(answers)).toEqual(
      routes.map((route) => [
        route.key,
        ...(isOfProcess(route) ? [route.status, null] : [503, "1"]),
      ]),
    );
  });

  test.each(["append", "follow"] as const)(
    "that changes something is answered 503 in time while the step `%s` hangs",
    async (step) => {
      await open();
      hang.begin(step);
      const received = await api.send("POST", "/v2/sources", { body: { name: "One" } });
      expect(received.status).toBe(503);
      expect(received.body.message).toContain("may still take effect");
    },
  );

  test.each(["append", "follow"] as const)(
    "that stores code waits for the step `%s` no longer than for its limit",
    async (step) => {
      hang = new Hang();
      const limits = { order: hangingLog(hang), commitMsMax: ANSWER_MS_MAX };
      api = await startApi({}, limits);
      hang.begin(step);
      const code = "export function transformEvent(event) { return event; }";
      const body = { name: "One", language: "javascript", code };
      const received = await api.send("POST", "/transformations?publish=false", { body });
      expect([received.status, received.body.message]).toEqual([
        503,
        expect.stringContaining("may still be; read the state"),
      ]);
    },
  );

  test("is answered 503 in time while other nodes, or figures of this one, are not answered", async () => {
    const never = () => new Promise<never>(() => {});
    const others = { node: "one", ask: never, answerWith() {} };
    await open({ others, nodes: never, system: never });
    for (const path of ["/v2/cluster", "/v2/system", "/v2/overview"]) {
      expect([path, (await api.send("GET", path)).status]).toEqual([path, 503]);
    }
  });

  test("is answered 503, and never 401, until what it is answered from is stored", async () => {
    let starting: string | undefined = "The first token is not stored yet";
    await open({ starting: () => starting });
    const things = { source: "none" };
    for (const route of routes) {
      const received = await sendExample(api, exampleOf(route, things), {
        ...{ token: "pm_unknown", unchecked: true },
      });
      const status = isOfProcess(route) ? route.status : 503;
      expect([route.key, received.status]).toEqual([route.key, status]);
      if (status === 503) expect(received.headers.get("retry-after")).toBe("1");
    }
    const signIn = { body: { token: api.token }, token: null };
    expect((await api.send("POST", "/v2/session", signIn)).status).toBe(503);
    starting = undefined;
    expect((await api.send("POST", "/v2/session", signIn)).status).toBe(201);
    expect((await api.send("GET", "/v2/session")).status).toBe(200);
  });
});

test("a deadline counts the parts of a request together, and nothing between them", async () => {
  const deadline = new RequestDeadline(3_000);
  await deadline.run(() => Bun.sleep(1_500));
  await Bun.sleep(1_000);
  // A new deadline would last longer than this part.
  await expect(deadline.run(() => Bun.sleep(2_900))).rejects.toThrow("No answer within");
});

test("a deadline that passed while this process was paused lets responses be read first", async () => {
  const deadline = new RequestDeadline(100);
  const response = Promise.withResolvers<string>();
  const answer = deadline.run(() => response.promise);
  setTimeout(() => response.resolve("in time"), 1_500);
  // The timers of both are due only after the pause.
  await Promise.resolve();
  const until = performance.now() + 1_400;
  while (performance.now() < until);
  expect(await answer).toBe("in time");
});

test("a deadline comes early by the time that a late process adds to an answer, up to half", async () => {
  const why = ", because this server lacks processor time";
  for (const [latenessMs, ms, reason] of [
    [100, 1_700, "within 2 s. A change"],
    [5_000, 1_000, `within 1 s${why}. A change`],
  ] as const) {
    const startedAt = performance.now();
    const deadline = new RequestDeadline(2_000, () => latenessMs);
    await expect(deadline.run(() => new Promise(() => {}))).rejects.toThrow(reason);
    const elapsedMs = performance.now() - startedAt;
    expect(elapsedMs).toBeGreaterThan(ms - 10);
    expect(elapsedMs).toBeLessThan(ms + 250);
  }
});

test("a deadline comes early also when the process becomes late while a request waits", async () => {
  let latenessMs = 0;
  const deadline = new RequestDeadline(6_000, () => latenessMs);
  const startedAt = performance.now();
  setTimeout(() => {
    latenessMs = 1_000;
  }, 300);
  await expect(deadline.run(() => new Promise(() => {}))).rejects.toThrow("within 3 s, because");
  expect(performance.now() - startedAt).toBeLessThan(5_000);
});

test("a request that was extended in one step is not extended in the next", async () => {
  const deadline = new RequestDeadline(100);
  const first = deadline.run(() => Bun.sleep(10_000)).catch(() => "late");
  Bun.sleepSync(1_200);
  expect(await first).toBe("late");
  const second = deadline.run(() => Bun.sleep(50)).catch(() => "late");
  Bun.sleepSync(1_200);
  expect(await second).toBe("late");
});

test("a process that is paused again and again extends a deadline once", async () => {
  const deadline = new RequestDeadline(100);
  let isOver = false;
  const over = deadline
    .run(() => new Promise(() => {}))
    .catch(() => {
      isOver = true;
    });
  let pauses = 0;
  for (; pauses < 5 && !isOver; pauses++) {
    Bun.sleepSync(2_200);
    await Bun.sleep(1);
  }
  expect(pauses).toBe(2);
  await over;
});
