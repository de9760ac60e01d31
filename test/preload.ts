import { afterAll, setDefaultTimeout } from "bun:test";
import { releaseShared } from "./shared.ts";

/** Runs before the test files of a process, with and without the runner. */

/** A test waits for events, not for a time: only a hang ends one, however slow the machine is. */
setDefaultTimeout(300_000);

afterAll(releaseShared, 300_000);
