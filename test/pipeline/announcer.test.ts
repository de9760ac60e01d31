import { expect, test } from "bun:test";
import type { LogReader } from "../../src/log/event-log.ts";
import { Announcer } from "../../src/pipeline/lane/announcer.ts";
import type { LogChunk } from "../../src/pipeline/reading/shared-reader.ts";
import { encodeRecord, feedOf, MemoryLog, record } from "./doubles.ts";
import { logger } from "./repetitions-rig.ts";
import { until } from "./rig.ts";

/** Logs, and an announcer that notes which sources' lanes it wakes. */
function rig(...names: string[]) {
  const memory = new Map(names.map((name) => [name, new MemoryLog(name)]));
  const readers = new Map<string, LogReader>(memory);
  const logs = feedOf(readers);
  const state = {
    woken: [] as string[],
    ended: [] as string[],
    reads: 0,
    isFailing: false,
    newerAt: undefined as number | undefined,
  };
  const read = logs.read;
  logs.read = async (log, sequence): Promise<LogChunk | undefined> => {
    state.reads += 1;
    if (state.isFailing) throw new Error("The disk fails");
    const chunk = await read(log, sequence);
    if (chunk === undefined || state.newerAt === undefined) return chunk;
    return { ...chunk, next: sequence, sources: new Set(), newerAt: state.newerAt };
  };
  const sources = { of: (source: string) => [`lane of ${source}`], takeEnded: () => state.ended };
  const wake = (ids: string[]) => void state.woken.push(...ids);
  const open = () => new Announcer({ logs, logger, sources, wake });
  return { log: memory.get("0")!, readers, logs, state, open };
}

const of = (sourceId: string) => encodeRecord(record(0, "ann", { sourceId }));

test("news of unknown sources wakes the lanes of the new records' sources, which are read once", async () => {
  const { log, logs, state, open } = rig("0");
  log.append(record(0, "ann", { sourceId: "before" }));
  const announcer = open();
  expect(logs.announcedEnd("0")).toBe(1);
  announcer.announce();
  log.appendUnread([of("one"), of("other"), of("one")]);
  announcer.announce();
  announcer.announce();
  await until(() => logs.announcedEnd("0") === 4);
  expect([state.woken, state.reads]).toEqual([["lane of one", "lane of other"], 1]);
  await announcer.stop();
});

test("no record counts as announced while an earlier one is not read", async () => {
  const { log, logs, state, open } = rig("0");
  const announcer = open();
  state.isFailing = true;
  log.appendUnread([of("one")]);
  announcer.announce();
  log.appendUnread([of("other")], ["other"]);
  announcer.announce({ log: "0", end: 2, sources: ["other"] });
  await until(() => state.reads > 1);
  // Lanes of a source that is named need not wait.
  expect([state.woken, logs.announcedEnd("0")]).toEqual([["lane of other"], 0]);
  state.isFailing = false;
  await until(() => logs.announcedEnd("0") === 2);
  expect(new Set(state.woken)).toEqual(new Set(["lane of one", "lane of other"]));
  announcer.announce({ log: "0", end: 2, sources: [] });
  await announcer.stop();
});

test("nothing behind a record of a newer version is announced", async () => {
  const { log, logs, state, open } = rig("0");
  const announcer = open();
  state.newerAt = 7_000;
  log.appendUnread([of("one")]);
  announcer.announce();
  await until(() => logs.heldSince("0") === 7_000);
  log.appendUnread([of("other")], ["other"]);
  announcer.announce({ log: "0", end: 2, sources: ["other"] });
  announcer.announce();
  expect([state.woken, logs.announcedEnd("0")]).toEqual([["lane of other"], 0]);
  await announcer.stop();
  // A later announcer leaves to the lanes what is in the log.
  await open().stop();
  expect([logs.announcedEnd("0"), logs.heldSince("0")]).toEqual([2, undefined]);
});

test("a log that appears is read from its start", async () => {
  const { log, readers, logs, state, open } = rig("0");
  const announcer = open();
  const second = new MemoryLog("1");
  readers.set("1", second);
  second.appendUnread([of("one")]);
  second.appendUnread([of("other")], ["other"]);
  announcer.announce({ log: "1", end: 2, sources: ["other"] });
  await until(() => logs.announcedEnd("1") === 2);
  expect(new Set(state.woken)).toEqual(new Set(["lane of one", "lane of other"]));
  log.append(record(0, "ann", { sourceId: "third" }));
  announcer.announce({ log: "0", end: 1, sources: ["third"] });
  expect(logs.announcedEnd("0")).toBe(1);
  state.ended = ["lane whose connection has ended"];
  announcer.announce({ log: "0", end: 1, sources: [] });
  expect(state.woken.at(-1)).toBe("lane whose connection has ended");
  await announcer.stop();
});
