import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { openCatalog } from "../catalog/open.ts";
import { LossReport } from "../log/loss-report.ts";
import { openLogReader } from "../log/reader.ts";
import { sealLog } from "../log/recovery.ts";
import { openLedger } from "../pipeline/ledger/ledger.ts";
import { unpack } from "./archive.ts";
import type { ArchiveSource } from "./archive-source.ts";

/** Contents of a backup, found by reading all of it. */
export interface BackupContents {
  workspaces: number;
  deadLetters: number;
  /** Number of records in the event logs, including delivered events that are not deleted yet. */
  records: number;
  /** Sentences about records that the event logs have lost. */
  warnings: string[];
}

const READ_BYTES_MAX = 4 << 20;

/**
 * Unpacks a backup into a new directory and reads all of it. Throws when the backup cannot be read.
 */
export async function verify(
  archive: Pick<ArchiveSource, "name" | "read">,
  directory: string,
): Promise<BackupContents> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  await unpack(archive, directory);
  const logger = pino({ level: "silent" });
  const catalog = await openCatalog({ directory: join(directory, "catalog"), logger });
  const workspaces = catalog.workspaces.list().map(({ id }) => id);
  await catalog.close();
  const ledger = openLedger(join(directory, "delivery"), logger);
  const deadLetters = sum(workspaces.map((id) => ledger.letters.countOf(id)));
  await ledger.close();

  const events = join(directory, "events");
  const losses = new LossReport({ logger });
  const logs = existsSync(events) ? readdirSync(events) : [];
  let records = 0;
  for (const name of logs) records += await readLog(join(events, name), losses);
  return { workspaces: workspaces.length, deadLetters, records, warnings: losses.warnings() };
}

async function readLog(directory: string, losses: LossReport): Promise<number> {
  const logger = pino({ level: "silent" });
  const reader = await openLogReader({ directory, losses });
  reader.advance(await sealLog({ directory, logger }));
  let count = 0;
  for (let next = reader.first(); next < reader.end(); ) {
    const read = await reader.read(next, READ_BYTES_MAX);
    if (read.next === next) break;
    count += read.records.length;
    next = read.next;
  }
  await reader.close();
  return count;
}

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);
