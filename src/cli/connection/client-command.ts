import { type ArgsDef, type CommandDef, defineCommand } from "citty";
import { CommandOutput } from "../terminal/output.ts";
import { connect, connectionFlags, type ServerAccess } from "./connection.ts";
import { EXIT_NOT_ANSWERED, failureOf } from "./failure.ts";

/** Parameters of a run of a client command: the server, the output and the command's arguments. */
export interface CommandCall extends ServerAccess {
  output: CommandOutput;
  args: Record<string, unknown>;
}

/**
 * Defines a command that sends requests to a running server. Adds the flags that select the server
 * and the token. The exit code is the result of `run`, or 3 if the server cannot be reached or
 * refuses a request.
 */
export function clientCommand(
  name: string,
  description: string,
  args: ArgsDef,
  run: (call: CommandCall) => Promise<number>,
): CommandDef {
  return defineCommand({
    meta: { name, description },
    args: { ...args, ...connectionFlags } as ArgsDef,
    async run({ args }) {
      const flags = args as Record<string, unknown>;
      const connection = connect(flags);
      const output = new CommandOutput();
      try {
        return await run({ ...connection, output, args: flags });
      } catch (error) {
        const failure = failureOf(error, connection.server);
        if (failure === undefined) throw error;
        output.note(`pixelmill: ${failure}`);
        return EXIT_NOT_ANSWERED;
      }
    },
  }) as CommandDef;
}
