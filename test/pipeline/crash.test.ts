import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LANE_IN_FLIGHT_EVENTS_MAX } from "../../src/settings/limits.ts";
import { runs } from "../tier.ts";
import { numbersTo, type Received, Sink, sorted } from "./rig.ts";

const count = 3_000;
/** Number of kills before a life that is not killed. */
const KILLS = runs(4, 8);
const rounds = Number(process.env.CRASH_ROUNDS ?? runs(1, 3));

interface Letter {
  n: number;
  stage: string;
}

/**
 * Runs the pipeline until it is killed after `requests` requests; undefined when it was not done.
 */
async function live(directory: string, sink: Sink, requests: number) {
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, "crash-child.ts"), directory, sink.url, String(count)],
    { stdout: "pipe", stderr: "inherit" },
  );
  const last = sink.requests + requests;
  sink.answer = (events) => {
    if (sink.requests >= last) child.kill("SIGKILL");
    return moody(events);
  };
  const text = await new Response(child.stdout).text();
  const code = await child.exited;
  if (child.signalCode === "SIGKILL") return undefined;
  expect(code).toBe(0);
  return JSON.parse(text) as Letter[];
}

/** A receiver that refuses some events for good and fails now and then. */
function moody(events: Received[]): Response {
  if (events.some(({ n }) => n % 97 === 0)) return new Response("", { status: 400 });
  return new Response("", { status: Math.random() < 0.05 ? 503 : 200 });
}

test.each(numbersTo(rounds))(
  "every event of a pipeline that is killed repeatedly has one outcome, at least once (round %d)",
  async () => {
    const directory = mkdtempSync(join(tmpdir(), "crash-"));
    const sink = new Sink();
    let letters: Letter[] | undefined;
    let kills = 0;
    let repeated = 0;
    const seen = new Set<string>();
    const firsts: Received[] = [];
    for (; letters === undefined; kills++) {
      const before = sink.taken.length;
      letters = await live(directory, sink, kills < KILLS ? Math.random() * 80 : Infinity);
      let again = 0;
      for (const event of sink.taken.slice(before)) {
        const key = `${event.n} ${event.part}`;
        if (seen.has(key)) again += 1;
        else firsts.push(event);
        seen.add(key);
      }
      // At most what was in flight, or settled and not yet committed, when it was killed.
      expect(again).toBeLessThanOrEqual(2 * LANE_IN_FLIGHT_EVENTS_MAX);
      repeated += again;
    }
    sink.close();
    rmSync(directory, { recursive: true });

    const expected = numbersTo(count).filter((n) => ![3, 4].includes(n % 10) && n % 97 !== 0);
    const keys = expected.flatMap((n) =>
      n % 10 === 5 ? [`${n} 0`, `${n} 1`] : [`${n} undefined`],
    );
    expect([...seen].sort()).toEqual(keys.sort());
    const failed = (stage: string) =>
      sorted(letters.filter((l) => l.stage === stage).map((l) => l.n));
    expect(failed("transform")).toEqual(numbersTo(count).filter((n) => n % 10 === 4));
    const refused = numbersTo(count).filter((n) => n % 97 === 0 && ![3, 4].includes(n % 10));
    expect(failed("deliver")).toEqual(
      sorted(refused.flatMap((n) => (n % 10 === 5 ? [n, n] : [n]))),
    );
    for (const user of numbersTo(20)) {
      const own = firsts.filter((e) => e.anonymousId === `user ${user}`).map(({ n }) => n);
      expect(own).toEqual(sorted(own));
    }
    // Otherwise the test has tested nothing.
    expect(kills).toBeGreaterThan(KILLS);
    expect(repeated).toBeGreaterThan(0);
    process.stderr.write(`${kills} kills, ${repeated} events repeated\n`);
  },
  300_000,
);
