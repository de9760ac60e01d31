/** An ingest process for the tests, as the hidden command `ingest` starts it. */

import { openPartitions } from "../../src/cli/partitions.ts";
import { startIngest } from "../../src/ingest/ingest.ts";

process.exit(await startIngest(openPartitions));
