import { pixelmillCommand } from "../e2e/command.ts";
import { ADMIN_TOKEN, type Server, waitFor } from "../e2e/server.ts";

/** The real command as a client of a real server, piped and in a terminal. */

export interface Options {
  environment?: Record<string, string>;
  cwd?: string;
  /** Text of the standard input. */
  input?: string;
}

const environmentOf = (
  server: Pick<Server, "controlPlane">,
  more: Record<string, string> = {},
) => ({
  PATH: process.env.PATH ?? "",
  HOME: "/nonexistent",
  TERM: "xterm-256color",
  PIXELMILL_SERVER: server.controlPlane,
  PIXELMILL_TOKEN: ADMIN_TOKEN,
  ...more,
});

export type Client = (
  args: string[],
  options?: Options,
) => Promise<{ code: number; output: string; errors: string }>;

/** Runs a command whose output is read by a pipe. */
export const pipedTo =
  (server: Pick<Server, "controlPlane">): Client =>
  async (args, options = {}) => {
    const child = Bun.spawn([...pixelmillCommand, ...args], {
      env: environmentOf(server, options.environment),
      ...(options.cwd !== undefined && { cwd: options.cwd }),
      stdin: options.input === undefined ? "ignore" : new Blob([options.input]),
      stdout: "pipe",
      stderr: "pipe",
    });
    const [output, errors] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    return { code: await child.exited, output, errors };
  };

/** A command that runs in a terminal of 80 columns. */
export interface InTerminal {
  /** Returns what the terminal got until now, with its escape sequences. */
  screen(): string;
  /** Types a text, such as an answer to a question. */
  type(text: string): void;
  /** Waits until the terminal has shown a text. */
  shown(text: string): Promise<unknown>;
  signal(signal: NodeJS.Signals): void;
  exited: Promise<number>;
}

/** Starts a command in a terminal of 80 columns and 24 rows. */
export function inTerminal(
  server: Pick<Server, "controlPlane">,
  args: string[],
  options: Options = {},
): InTerminal {
  let screen = "";
  const decoder = new TextDecoder();
  const child = Bun.spawn([...pixelmillCommand, ...args], {
    env: environmentOf(server, options.environment),
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    terminal: {
      cols: 80,
      rows: 24,
      data(_, bytes) {
        screen += decoder.decode(bytes, { stream: true });
      },
    },
  });
  return {
    screen: () => screen,
    type: (text) => child.terminal!.write(text),
    shown: (text) => waitFor(() => screen.includes(text) || undefined, `${text} in ${screen}`),
    signal: (signal) => child.kill(signal),
    exited: child.exited,
  };
}

/** The widest line of a text, in columns; escape sequences take none. */
export function widestLine(text: string): number {
  return Math.max(...text.split(/\r?\n/).map((line) => Bun.stringWidth(line)));
}

/** Control characters that a terminal would obey, except those of styles and line ends. */
export function obeyedControls(text: string): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what the test is about
  return text.replaceAll(/\x1b\[[\d;]*m|\r?\n/g, "").match(/\p{Cc}|\p{Bidi_Control}/gu) ?? [];
}
