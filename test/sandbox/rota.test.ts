import { expect, test } from "bun:test";
import { GUEST_TURN_MS } from "../../src/limits.ts";
import { type Computing, Rota } from "../../src/sandbox/rota.ts";

class Worker implements Computing {
  runs = true;

  constructor(
    public awake: boolean,
    public owes: boolean,
  ) {}

  pause() {
    this.runs = false;
  }
  resume() {
    this.runs = true;
  }
}

const workers = (count: number, owes: boolean, awake = true) =>
  Array.from({ length: count }, () => new Worker(awake, owes));
const running = (all: readonly Worker[]) => all.filter(({ runs }) => runs).length;

test("nobody is stopped as long as there is a processor for each that computes a lot", () => {
  const all = [...workers(2, true), ...workers(9, false)];
  const rota = new Rota<Worker>(2);
  for (let now = 0; now < 10_000; now += 25) {
    rota.look(all, now);
    expect(running(all)).toBe(all.length);
  }
});

test("those that compute a lot get equal turns, the others are never stopped", () => {
  const heavy = workers(7, true);
  const light = workers(5, false);
  const rota = new Rota<Worker>(2);
  const looks = new Map(heavy.map((worker) => [worker, 0]));
  for (let now = 0; now < 70 * GUEST_TURN_MS; now += GUEST_TURN_MS / 4) {
    rota.look([...heavy, ...light], now);
    expect(running(heavy)).toBe(2);
    expect(running(light)).toBe(5);
    for (const worker of heavy) if (worker.runs) looks.set(worker, looks.get(worker)! + 1);
  }
  expect(new Set(looks.values())).toEqual(new Set([80]));
});

test("who sleeps, has paid or is gone gives up the place in line", () => {
  const [a, b, c] = workers(3, true) as [Worker, Worker, Worker];
  const rota = new Rota<Worker>(1);
  rota.look([a, b, c], 0);
  expect([a.runs, b.runs, c.runs].filter(Boolean)).toHaveLength(1);
  const first = [a, b, c].find(({ runs }) => runs)!;
  const others = [a, b, c].filter((worker) => worker !== first);
  first.awake = false;
  rota.look([a, b, c], 1);
  expect(running(others)).toBe(1);
  expect(first.runs).toBe(true);
  others.find(({ runs }) => runs)!.owes = false;
  rota.look([a, b, c], 2);
  expect(running([a, b, c])).toBe(3);
  rota.look([first], 3);
  expect(first.runs).toBe(true);
});

test("what is anybody's due is half of an equal share", () => {
  const rota = new Rota<Worker>(2);
  expect(rota.dueShare).toBe(1);
  rota.look([...workers(10, true), ...workers(30, false, false)], 0);
  expect(rota.dueShare).toBe(0.1);
  rota.look([], 0);
  expect(rota.dueShare).toBe(1);
});
