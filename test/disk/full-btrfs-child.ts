import { closeSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { openMark } from "../../src/log/durable-mark.ts";
import { openStore } from "../../src/store/lmdb/lmdb-store.ts";

/**
 * Opens a store and a mark on a small disk, fills the disk, and stores to both until a change is
 * refused and the pages that are mapped were written back several times; then makes room.
 */
const [disk = ""] = process.argv.slice(2);
const ballast = join(disk, "ballast");
const path = join(disk, "store");
const logger = pino({ level: "silent" });
const store = openStore({ path, name: "The store", logger });
const mark = openMark(join(disk, "log"));
const rows = store.table<string, string>("rows");
await store.change(() => rows.put("before", "x"));

fill();
let refused = false;
for (let round = 0; round < 400; round++) {
  mark.set(round);
  await store
    .change(() => rows.put(`row ${round}`, "x".repeat(50_000)))
    .catch(() => {
      refused = true;
    });
  if (round % 40 === 0) Bun.spawnSync(["sync", "-f", disk]);
}
rmSync(ballast);
Bun.spawnSync(["sync", "-f", disk]);
await store.change(() => rows.put("after", "taken"));
process.stdout.write(JSON.stringify({ refused, after: rows.get("after"), mark: mark.get() }));
await store.close();

function fill(): void {
  const fd = openSync(ballast, "w");
  for (const bytes of [1 << 20, 4_096]) {
    const piece = Buffer.alloc(bytes, 1);
    try {
      for (;;) writeSync(fd, piece);
    } catch {
      // No further piece of this size fits.
    }
    try {
      fsyncSync(fd);
    } catch {
      // The disk is full.
    }
  }
  closeSync(fd);
}
