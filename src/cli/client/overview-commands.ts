import { StartError } from "../../errors.ts";
import { type CommandCall, clientCommand } from "../connection/client-command.ts";
import { passingFailureOf } from "../connection/failure.ts";
import { pause, stopSignal } from "../terminal/stop-signal.ts";
import { fit, jsonText } from "../terminal/text.ts";
import { type Overview, overviewLines } from "./overview-text.ts";

/** Escape sequence: opens the alternate screen, hides the cursor. `LEAVE_SCREEN` undoes it. */
const ENTER_SCREEN = "\x1b[?1049h\x1b[?25l";
const LEAVE_SCREEN = "\x1b[?25h\x1b[?1049l";
/**
 * Escape sequences: `HOME` moves the cursor to the top left, `CLEAR_LINE` clears the rest of the
 * line, and `CLEAR_BELOW` clears the rest of the screen.
 */
const HOME = "\x1b[H";
const CLEAR_LINE = "\x1b[K";
const CLEAR_BELOW = "\x1b[J";

export const status = clientCommand(
  "status",
  "Tell what a server does and what needs a person; exit code 1 if something does",
  { json: { type: "boolean", description: "print JSON" } },
  async ({ client, server, output, args }) => {
    const overview = await client.call("GET /v2/overview");
    if (args.json === true) output.print(jsonText(overview, 2));
    else {
      const { workspace } = await client.call("GET /v2/workspace");
      output.print(...overviewLines({ overview, workspace: workspace.name, server }, output));
    }
    return overview.problems.length > 0 ? 1 : 0;
  },
);

export const top = clientCommand(
  "top",
  "Show what a server does, live; JSON lines when piped",
  {
    every: { type: "string", description: "seconds between two looks [2]", valueHint: "number" },
    count: { type: "string", description: "end after this many looks", valueHint: "number" },
    json: { type: "boolean", description: "print JSON lines" },
  },
  async (call) => {
    const { client, args, output } = call;
    const everyMs = positive(args, "every", 2) * 1_000;
    const count = positive(args, "count", Number.POSITIVE_INFINITY);
    const stop = stopSignal(output);
    const { workspace } = await client.call("GET /v2/workspace");
    // The first answer also shows whether the token has the permission.
    let overview = await client.call("GET /v2/overview");
    const asJson = args.json === true || !output.isTerminal;
    const screen = asJson ? undefined : new Screen(call, workspace.name);
    try {
      for (let looks = 1; ; looks++) {
        if (screen !== undefined) await screen.show(overview);
        else await output.write(`${jsonText(overview)}\n`);
        if (looks >= count) return 0;
        await pause(everyMs, stop);
        const next = await nextOverview(call, screen, everyMs, stop);
        if (next === undefined) return 0;
        overview = next;
      }
    } finally {
      screen?.leave();
    }
  },
);

/**
 * Requests the server's overview repeatedly until the server answers. Returns `undefined` if the
 * user ends the command first.
 */
async function nextOverview(
  { client, server, output }: CommandCall,
  screen: Screen | undefined,
  everyMs: number,
  stop: AbortSignal,
): Promise<Overview | undefined> {
  let wasAway = false;
  while (!stop.aborted) {
    try {
      return await client.call("GET /v2/overview");
    } catch (error) {
      const failure = passingFailureOf(error, server);
      if (failure === undefined) throw error;
      if (screen !== undefined) await screen.showAway(failure);
      else if (!wasAway) output.note(`pixelmill: ${failure}; asking again`);
      wasAway = true;
      await pause(everyMs, stop);
    }
  }
  return undefined;
}

/** The alternate screen of the terminal. Each call of `show` or `showAway` draws it again. */
class Screen {
  #lines: string[] = [];

  constructor(
    readonly call: CommandCall,
    readonly workspace: string,
  ) {
    process.stdout.write(ENTER_SCREEN);
  }

  async show(overview: Overview): Promise<void> {
    const { output, server } = this.call;
    const shown = { overview, workspace: this.workspace, server };
    this.#lines = overviewLines(shown, output);
    await this.#draw(output.paint("dim", `${new Date().toISOString()}, Ctrl-C ends`));
  }

  /**
   * Draws the last overview again, and below it `failure`, a sentence about why the server sent no
   * newer overview.
   */
  async showAway(failure: string): Promise<void> {
    const { output } = this.call;
    await this.#draw(output.paint("red", fit(failure, output.columns)));
  }

  leave(): void {
    process.stdout.write(LEAVE_SCREEN);
  }

  async #draw(last: string): Promise<void> {
    const { output } = this.call;
    const lines = [...this.#lines.slice(0, output.rows - 2), "", last];
    await output.write(HOME + lines.map((line) => line + CLEAR_LINE).join("\n") + CLEAR_BELOW);
  }
}

function positive(args: Record<string, unknown>, name: string, fallback: number): number {
  const value = args[name] === undefined ? fallback : Number(args[name]);
  if (!(value > 0)) throw new StartError(`Expected --${name} as a number above 0`);
  return value;
}
