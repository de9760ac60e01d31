import { expect, test } from "bun:test";
import { LogShortenedError, OrderedLogEnd } from "../../src/store/ordered/log-end.ts";

/** A log whose appends are acknowledged by hand, and whose leader answers an old end. */
class HeldLog {
  readonly appends: PromiseWithResolvers<number>[] = [];
  knownEnd = async () => 0;

  append(): Promise<number> {
    const held = Promise.withResolvers<number>();
    this.appends.push(held);
    return held.promise;
  }
}

const turn = () => new Promise(setImmediate);
const turns = async () => {
  for (let n = 0; n < 3; n++) await turn();
};

function opened(msMax?: number) {
  const log = new HeldLog();
  return { log, end: new OrderedLogEnd(log, { next: 0 }, msMax) };
}

test("readers of a log's end that wait share one barrier, which is appended after they began", async () => {
  const { log, end } = opened();
  const first = Promise.all(Array.from({ length: 10 }, () => end.read()));
  await turns();
  expect(log.appends).toHaveLength(1);
  // The barrier in flight may have been appended before these reads began.
  const second = Promise.all(Array.from({ length: 10 }, () => end.read()));
  await turns();
  expect(log.appends).toHaveLength(1);
  log.appends[0]!.resolve(5);
  expect(new Set(await first)).toEqual(new Set([5]));
  await turns();
  expect(log.appends).toHaveLength(2);
  log.appends[1]!.resolve(8);
  expect(new Set(await second)).toEqual(new Set([8]));
  await turns();
  expect(log.appends).toHaveLength(2);
});

test("a log without readers gets no barriers, and each later read gets its own", async () => {
  const { log, end } = opened();
  await turns();
  expect(log.appends).toHaveLength(0);
  for (let n = 0; n < 3; n++) {
    const read = end.read();
    await turns();
    log.appends[n]!.resolve(2 * n);
    expect(await read).toBe(2 * n);
  }
  expect(log.appends).toHaveLength(3);
});

test("a read needs nothing that lies between barriers of its node, and all else before its own", async () => {
  const { log, end } = opened();
  const found: number[] = [];
  // Another node appends at 7.
  for (const [n, position] of [4, 5, 6, 8, 9].entries()) {
    const read = end.read();
    await turns();
    log.appends[n]!.resolve(position);
    found.push(await read);
  }
  expect(found).toEqual([4, 4, 4, 8, 8]);
});

test("a barrier in the place of an earlier one, which need not be read, shows that the log has lost entries", async () => {
  const { log, end } = opened();
  for (const [n, position] of [4, 5].entries()) {
    const read = end.read();
    await turns();
    log.appends[n]!.resolve(position);
    await read;
  }
  const lost = end.read();
  await turns();
  log.appends[2]!.resolve(5);
  await expect(lost).rejects.toThrow(new LogShortenedError(6, 5));
});

test("readers are refused while a barrier is overdue, and read again once it is acknowledged", async () => {
  const { log, end } = opened(1);
  const refusal = "Expected the log's leader to acknowledge an entry within 1 ms";
  const refused = { status: "rejected", reason: { message: refusal } };
  const waiting = Promise.allSettled([end.read()]);
  await turns();
  const behind = Promise.allSettled([end.read()]);
  expect(await Promise.all([waiting, behind])).toMatchObject([[refused], [refused]]);
  await expect(end.read()).rejects.toThrow(refusal);
  expect(log.appends).toHaveLength(1);
  log.appends[0]!.resolve(3);
  await turns();
  const next = end.read();
  await turns();
  log.appends[1]!.resolve(5);
  expect(await next).toBe(5);
});

test("readers are refused while a change of their node is overdue, and all of them when it becomes so", async () => {
  const { log, end } = opened(1);
  const change = end.append(Buffer.from("change"));
  const reads = [end.read(), end.read()].map((read) => read.catch((error) => error.message));
  const refusal = expect.stringContaining("to acknowledge an entry");
  expect(await Promise.all(reads)).toEqual([refusal, refusal]);
  expect(end.isOverdue).toBe(true);
  await expect(end.read()).rejects.toThrow("to acknowledge an entry");
  for (const [position, { resolve }] of log.appends.entries()) resolve(position);
  expect(await change).toBe(0);
  await turns();
  expect(end.isOverdue).toBe(false);
});

test("a barrier that is refused refuses its own readers alone", async () => {
  const { log, end } = opened();
  const refused = end.read();
  await turns();
  const later = end.read();
  log.appends[0]!.reject(new Error("Refused"));
  await expect(refused).rejects.toThrow("Refused");
  await turns();
  log.appends[1]!.resolve(1);
  expect(await later).toBe(1);
});

test("an entry that takes a position which was read before shows that the log has lost entries", async () => {
  const log = new HeldLog();
  const progress = { next: 4 };
  const end = new OrderedLogEnd(log, progress);
  const lost = end.append(Buffer.from("change"));
  // Entries that are read while the append is in flight say nothing about its position.
  progress.next = 9;
  log.appends[0]!.resolve(3);
  await expect(lost).rejects.toThrow(new LogShortenedError(4, 3));
  const known = end.append(Buffer.from("change"));
  log.appends[1]!.resolve(9);
  expect(await known).toBe(9);
  await expect(end.expectKnown()).rejects.toThrow("has 9 entries of its log, which ends at 0");
  for (const known of [9, 10]) {
    log.knownEnd = async () => known;
    await end.expectKnown();
  }
});
