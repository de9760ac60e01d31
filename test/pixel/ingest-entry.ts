/** An ingest process for the tests, as the hidden command `ingest` starts it. */

import { startIngest } from "../../src/pixel/ingest.ts";

process.exit(await startIngest());
