/** An ingest process for the tests, as the hidden command `ingest` starts it. */

import { openPartitions } from "../../src/cli/open-partitions.ts";
import { runIngestProcess } from "../../src/ingest/process/main.ts";

process.exit(await runIngestProcess(openPartitions));
