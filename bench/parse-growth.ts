/**
 * `BUN_JSC_useGC=0 bun bench/parse-growth.ts PARSER COUNT`: prints heap growth per operation, in
 * bytes.
 */
import { growthOf } from "../test/event/growth.ts";
import { work } from "./parsers.ts";

process.stdout.write(`${await growthOf(work[process.argv[2]!]!, Number(process.argv[3]))}\n`);
