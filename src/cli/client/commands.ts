import { importCommand } from "../import/rudderstack.ts";
import { deadLetters } from "./dead-letters.ts";
import { diff } from "./diff.ts";
import { pull } from "./pull.ts";
import { push } from "./push.ts";
import { replay } from "./replay.ts";
import { status } from "./status.ts";
import { tail } from "./tail.ts";
import { test } from "./test.ts";
import { top } from "./top.ts";

/** Commands that are clients of a running server, by name. */
export const clientCommands = {
  status,
  top,
  tail,
  test,
  pull,
  diff,
  push,
  "dead-letters": deadLetters,
  replay,
  import: importCommand,
};
