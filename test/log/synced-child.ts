/** Opens a log, appends a record, and says each when it is done: a child of synced.test.ts. */

import { writeSync } from "node:fs";
import { openTextWriter } from "./support.ts";

const writer = await openTextWriter(process.argv[2]!);
writeSync(1, "opened");
await writer.append("a record");
writeSync(1, "kept");
await writer.close();
