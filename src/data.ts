import { join, resolve } from "node:path";
import type { Config } from "./config.ts";

/** The data directory: everything that pixelmill writes lies below it. */
const inData = (config: Config, name: string) => join(resolve(config.data), name);

/** LMDB: workspaces, tokens, sources, destinations, code. */
export const catalogDirectory = (config: Config) => inData(config, "catalog");
/** One event log directory per ingest process. */
export const eventsDirectory = (config: Config) => inData(config, "events");
/** LMDB: cursors and dead letters of the pipeline. */
export const deliveryDirectory = (config: Config) => inData(config, "delivery");
/** What `file` destinations write. */
export const filesDirectory = (config: Config) => inData(config, "files");
