/** A server with nothing but ingest processes: prints its state as a JSON line, then waits. */

import { createLogger } from "../../src/observe/log.ts";
import { startFileIngest } from "./ingest-support.ts";

const [data, count] = process.argv.slice(2) as [string, string];
const options = { count: Number(count), logger: createLogger("fatal") };
const ingest = await startFileIngest(data, options);
process.stdout.write(`${JSON.stringify({ url: ingest.url, pids: ingest.pids() })}\n`);
