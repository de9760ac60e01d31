import { importCommand } from "../import/rudderstack.ts";
import { diff, pull, push } from "./code-commands.ts";
import { deadLetters } from "./dead-letters.ts";
import { status, top } from "./overview-commands.ts";
import { replay } from "./replay.ts";
import { tail } from "./tail.ts";
import { test } from "./test.ts";

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
