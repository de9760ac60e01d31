import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InvariantError } from "../../src/assert.ts";
import { openView } from "../../src/store/lmdb/view.ts";
import { encodeChangeSet } from "../../src/store/ordered/change-set.ts";
import type { LogEntry } from "../../src/store/ordered/ordered-log.ts";
import { OrderedStore } from "../../src/store/ordered/ordered-store.ts";
import { OrderedView } from "../../src/store/ordered/ordered-view.ts";
import { Proposals } from "../../src/store/ordered/proposals.ts";
import { listeningLogger, quiet } from "../log/support.ts";

const directory = mkdtempSync(join(tmpdir(), "pixelmill-invariants-"));
afterAll(() => rmSync(directory, { recursive: true }));

const local = (name: string) => openView({ path: join(directory, name), name, logger: quiet });

/** A change set without writes. */
const entry = (position: number, base: number): LogEntry => ({
  position,
  bytes: encodeChangeSet({ author: "a", number: 0, base, writes: [] })[0]!,
});

function openTestView(name: string): OrderedView {
  const options = { name, logger: quiet, author: "b", isKnown: () => false };
  return new OrderedView({ ...options, local: local(name) });
}

test("a view refuses entries that would move its position back", async () => {
  const view = openTestView("back");
  await view.apply([entry(0, -1), entry(1, 0), entry(2, 1)]);
  await expect(view.apply([entry(0, -1)])).rejects.toThrow(InvariantError);
  expect(view.position().next).toBe(3);
});

test("a view refuses a change set that takes effect at an earlier position", async () => {
  const view = openTestView("twice");
  await view.apply([entry(0, -1)]);
  await expect(view.apply([entry(0, 0)])).rejects.toThrow(InvariantError);
  expect(view.position().version).toBe(0);
});

test("numbers of a node's change sets ascend by one", () => {
  const proposals = new Proposals();
  void proposals.add(0, false);
  expect(() => proposals.add(0, false)).toThrow(InvariantError);
  expect(() => proposals.add(2, false)).toThrow(InvariantError);
});

test("a store whose view has stopped at a broken invariant refuses changes, with the reason", async () => {
  const { logger, lines } = listeningLogger();
  let take: (entries: readonly LogEntry[]) => Promise<void> = async () => {};
  const log = {
    append: async () => 1,
    knownEnd: async () => 1,
    trim: async () => {},
    follow(_: number, given: typeof take) {
      take = given;
      return { close: async () => {} };
    },
    trouble: () => undefined,
  };
  const store = new OrderedStore({ local: local("stopped"), log, name: "The store", logger });
  await take([entry(0, -1)]);
  await expect(take([entry(0, 0)])).rejects.toThrow(InvariantError);
  const reason =
    "The store has stopped: Broken invariant: Each change set takes effect once, in the order of the log";
  expect(store.trouble()).toBe(reason);
  await expect(store.change(() => {})).rejects.toThrow(reason);
  expect(lines.map(({ msg }) => msg)).toEqual(["view stopped"]);
  await store.close();
});
