import { expect, test } from "bun:test";
import { MinuteCounters } from "../../src/figures/minute-counters.ts";
import { DELIVERED, RECEIVED, REPEATED } from "../../src/figures/row.ts";
import { connectionSeries, seriesOf } from "../../src/figures/series.ts";
import { pipelineFigures } from "../../src/pipeline/monitoring/lane-figures.ts";
import type { LaneGauges } from "../../src/pipeline/monitoring/lane-gauges.ts";
import { LaneHistories } from "../../src/pipeline/monitoring/lane-history.ts";

const at = 60_000 * 60_000;
const connection = (sourceId: string, destinationId: string) =>
  connectionSeries({ sourceId, destinationId });

test("a minute has the outcomes of each item, and received events once for a source and a workspace", () => {
  const histories = new LaneHistories();
  const [a, b] = [histories.get("a"), histories.get("b")];
  a.recordReceived("s", at, 5);
  a.recordOutcome("s", "delivered", at, 3);
  a.recordOutcome("s", "dropped", at, 1);
  a.recordReceived("t", at, 2);
  a.recordOutcome("t", "dead-letter", at, 2);
  b.recordReceived("s", at, 5);
  b.recordOutcome("s", "delivered", at, 4);
  histories.get("deleted").recordOutcome("s", "delivered", at, 100);
  const received = new MinuteCounters(10);
  received.add("s", at, RECEIVED, 6);
  received.add("s", at, REPEATED, 1);
  received.add("deleted", at, RECEIVED, 100);
  const runs = new MinuteCounters(10);
  runs.add("code", at, DELIVERED, 9);
  const sources = {
    ...{ histories, runs, received },
    workspaceOf: (id: string) => (id === "deleted" ? undefined : "w"),
    workspaceOfSource: (id: string) => (id === "deleted" ? undefined : "w"),
  };
  const { minute } = pipelineFigures(sources, () => []);
  expect(Object.fromEntries(minute(at))).toEqual({
    [seriesOf("destination", "a")]: [7, 3, 1, 2],
    [seriesOf("destination", "b")]: [5, 4],
    [seriesOf("workspace", "w")]: [6, 7, 1, 2],
    [seriesOf("source", "s")]: [6, 7, 1, 0, 1],
    [seriesOf("source", "t")]: [0, 0, 0, 2],
    [connection("s", "a")]: [5, 3, 1],
    [connection("t", "a")]: [2, 0, 0, 2],
    [connection("s", "b")]: [5, 4],
    [seriesOf("transformation", "code")]: [0, 9],
  });
  expect(minute(at - 60_000).size).toBe(0);
});

test("the lag of lanes adds up in events, and is the longest in whole seconds", async () => {
  const lane = (destination: string, events: number, seconds: number) =>
    ({
      labels: { destination },
      workspace: "w",
      lagEvents: () => events,
      lagSeconds: () => seconds,
      sourceIds: () => ["s"],
    }) as unknown as LaneGauges;
  const lagging = [lane("a", 3, 7.2), lane("b", 4, 2), lane("none", 0, 9)];
  const rows = await pipelineFigures({} as never, () => lagging).lag();
  const lag = (events: number, seconds: number) => [0, 0, 0, 0, 0, events, seconds];
  expect(Object.fromEntries(rows)).toEqual({
    [seriesOf("destination", "a")]: lag(3, 8),
    [seriesOf("destination", "b")]: lag(4, 2),
    [seriesOf("workspace", "w")]: lag(7, 8),
    [seriesOf("source", "s")]: lag(7, 8),
    [connection("s", "a")]: lag(3, 8),
    [connection("s", "b")]: lag(4, 2),
  });
});
