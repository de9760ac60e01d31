import { diff } from "./diff.ts";
import { pull } from "./pull.ts";
import { push } from "./push.ts";
import { status } from "./status.ts";
import { tail } from "./tail.ts";
import { test } from "./test.ts";

/** Commands that are clients of a running server, by name. */
export const clientCommands = { status, tail, test, pull, diff, push };
