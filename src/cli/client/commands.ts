import { status } from "./status.ts";
import { tail } from "./tail.ts";

/** Commands that are clients of a running server, by name. */
export const clientCommands = { status, tail };
