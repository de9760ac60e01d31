import { join } from "node:path";
import { FigureTables, type NodeRow } from "../../src/figures/figure-tables.ts";
import { MINUTE_MS } from "../../src/figures/minute-counters.ts";
import { rowOf } from "../../src/figures/row.ts";
import { RECORDED, type Series, seriesOf } from "../../src/figures/series.ts";
import { openStore } from "../../src/store/lmdb/lmdb-store.ts";
import { logger } from "../catalog/_setup.ts";
import type { Scene } from "./_scene.ts";

/** Number of minutes before the present one that have figures. */
const MINUTES = 60;

/**
 * Writes figures of the past hour, as if the scene's server had recorded them: numbers of events
 * that rise and fall, a receiver that was slow for ten minutes, and refusals at the end.
 */
export async function writeHistory({ server, ids }: Scene): Promise<void> {
  const { source } = (await server.api("GET", `/v2/sources/${ids.source}`)).body;
  const path = join(server.directory, "data/figures/figures.mdb");
  const store = openStore({ path, name: "The figures", logger });
  const present = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
  const rows: NodeRow[] = [];
  for (let minute = 1; minute <= MINUTES; minute++) {
    const add = (series: Series, counters: number[], seconds = 0) => {
      const lag = { events: seconds * 10, seconds };
      const at = present - minute * MINUTE_MS;
      rows.push({ series, at, recorder: "history", row: rowOf(counters, lag) });
    };
    const received = Math.round(420 + 160 * Math.sin(minute / 9) + 60 * Math.sin(minute * 2.3));
    const dropped = Math.round(received / 9);
    const failed = minute < 6 ? Math.round(received / 4) : 0;
    const delivered = 3 * received - dropped - failed;
    const seconds = minute > 20 && minute < 32 ? 4 + 6 * (6 - Math.abs(26 - minute)) : 1;
    add(RECORDED, [60]);
    add(seriesOf("workspace", source.workspaceId), [received, delivered, dropped, failed], seconds);
    add(seriesOf("source", ids.source), [received]);
    add(seriesOf("destination", ids.broken), [0, received - failed, 0, failed], seconds);
    add(seriesOf("destination", ids.healthy), [0, received - dropped, dropped]);
  }
  await new FigureTables(store).write(rows);
  await store.close();
}
