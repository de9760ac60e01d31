import { afterAll, setDefaultTimeout } from "bun:test";
import * as fc from "fast-check";
import { runSeed } from "./seed.ts";
import { releaseShared } from "./shared.ts";

/** Runs before the test files of a process, with and without the runner. */

/** The runner sets it for each file; this call holds for the first file of a process. */
setDefaultTimeout(300_000);

fc.configureGlobal({ seed: runSeed });

afterAll(releaseShared, 300_000);
