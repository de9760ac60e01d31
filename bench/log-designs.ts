/**
 * Designs of durable storage behind one append function, which resolves when the record is on disk.
 */

import { Database } from "bun:sqlite";
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { open } from "lmdb";
import { Encoder } from "msgpackr";
import { openLogWriter } from "../src/log/writer.ts";
import { createLogger } from "../src/observe/log.ts";

export interface Design {
  append(record: Buffer): Promise<void>;
  close(): Promise<void>;
}

const bytesCodec = {
  bytesMax: (record: Buffer) => record.length,
  encode: (record: Buffer, into: Buffer, offset: number) => offset + record.copy(into, offset),
};

export const designs: Record<string, (directory: string) => Promise<Design>> = {
  "pixelmill log": async (directory) => {
    const logger = createLogger("error");
    return openLogWriter({ directory: join(directory, "log"), codec: bytesCodec, logger });
  },
  /**
   * Upper bound of the disk: the records of one event loop turn in one O_DSYNC write, no format.
   */
  "bare O_DSYNC writes": async (directory) => {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_DSYNC;
    const fd = openSync(join(directory, "bare"), flags);
    return {
      append: perTurn((records) => void writeSync(fd, Buffer.concat(records))),
      close: async () => closeSync(fd),
    };
  },
  "lmdb, put and flushed": async (directory) => {
    const db = open<Buffer, number>({
      path: join(directory, "lmdb"),
      encoding: "binary",
      encoder: { Encoder },
    });
    let next = 0;
    return {
      async append(record) {
        await db.put(next++, record);
        await db.flushed;
      },
      close: () => db.close(),
    };
  },
  "bun:sqlite, WAL, a transaction per turn": async (directory) => {
    const db = new Database(join(directory, "sqlite"));
    db.run("PRAGMA journal_mode = WAL");
    db.run("PRAGMA synchronous = FULL");
    db.run("CREATE TABLE records (sequence INTEGER PRIMARY KEY, bytes BLOB)");
    const insert = db.prepare("INSERT INTO records (bytes) VALUES (?)");
    const write = db.transaction((records: Buffer[]) => {
      for (const record of records) insert.run(record);
    });
    return { append: perTurn(write), close: async () => db.close() };
  },
};

/** Collects the records of one turn of the event loop, and writes them at the end of the turn. */
function perTurn(write: (records: Buffer[]) => void): (record: Buffer) => Promise<void> {
  let waiting: Buffer[] = [];
  let settled = Promise.withResolvers<void>();
  const flush = () => {
    const { resolve, reject } = settled;
    const records = waiting;
    waiting = [];
    settled = Promise.withResolvers();
    try {
      write(records);
      resolve();
    } catch (error) {
      reject(error);
    }
  };
  return (record) => {
    if (waiting.push(record) === 1) setImmediate(flush);
    return settled.promise;
  };
}
