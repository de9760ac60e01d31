import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { run } from "../../src/cli/cli.ts";
import { ADMIN_TOKEN } from "../e2e/server.ts";
import type { Client } from "./command.ts";

/** The standard output of a command: a pipe, or a terminal of 80 columns and 24 rows. */
class Output extends EventEmitter {
  text = "";
  readonly columns: number | undefined;
  readonly rows: number | undefined;

  constructor(readonly isTTY: boolean) {
    super();
    if (isTTY) Object.assign(this, { columns: 80, rows: 24 });
  }

  write(text: string): boolean {
    this.text += text;
    this.emit("written");
    return true;
  }
}

/** A command that runs in the process of the test. */
export interface Running {
  output: Output;
  errors: Output;
  ended: Promise<number>;
  /** Calls what the command does at a signal, and no other listener of this process. */
  signal(signal: "SIGINT" | "SIGTERM"): void;
  /** Waits until the output or the errors contain a text. */
  shown(text: string): Promise<void>;
}

/** Surroundings of a command. */
interface Surroundings {
  environment?: Record<string, string>;
  /** Working directory. */
  cwd?: string;
  /** Text that the user types, or that comes from a pipe. */
  input?: string;
  isTerminal?: boolean;
}

/** Starts a command in this process, whose output it takes until the command has ended. */
export function start(
  args: string[],
  { environment = {}, cwd = process.cwd(), input = "", isTerminal = false }: Surroundings = {},
): Running {
  const { stdin, stdout, stderr, env: ownEnv } = process;
  const own = { stdin, stdout, stderr, env: ownEnv };
  const ownDirectory = process.cwd();
  const listeners = new Map(
    (["SIGINT", "SIGTERM"] as const).map((signal) => [signal, process.listeners(signal)]),
  );
  const added = (signal: "SIGINT" | "SIGTERM") =>
    process.listeners(signal).filter((it) => !listeners.get(signal)!.includes(it));
  const [output, errors] = [new Output(isTerminal), new Output(isTerminal)];
  const keyboard = Object.assign(new PassThrough(), { isTTY: isTerminal });
  keyboard.end(input);
  const env = { PATH: ownEnv.PATH, HOME: "/nonexistent", TERM: "xterm", ...environment };
  replace({ stdin: keyboard, stdout: output, stderr: errors, env });
  process.chdir(cwd);
  const ended = run(args).finally(() => {
    replace(own);
    process.chdir(ownDirectory);
    for (const signal of listeners.keys()) {
      for (const listener of added(signal)) process.off(signal, listener);
    }
  });
  const shown = (text: string) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if ((output.text + errors.text).includes(text)) resolve();
      };
      for (const it of [output, errors]) it.on("written", look);
      look();
    });
  return {
    ...{ output, errors, ended, shown },
    signal(signal) {
      for (const listener of added(signal)) listener(signal);
    },
  };
}

function replace(parts: Record<"stdin" | "stdout" | "stderr" | "env", unknown>): void {
  for (const [name, value] of Object.entries(parts)) {
    Object.defineProperty(process, name, { value, configurable: true, writable: true });
  }
}

/** Runs commands in this process, one at a time, as clients of a server. */
export const inProcess =
  (server: { controlPlane: string }, isTerminal = false): Client =>
  async (args, { environment = {}, ...more } = {}) => {
    const { output, errors, ended } = start(args, {
      ...more,
      isTerminal,
      environment: {
        PIXELMILL_SERVER: server.controlPlane,
        PIXELMILL_TOKEN: ADMIN_TOKEN,
        ...environment,
      },
    });
    const code = await ended;
    return { code, output: output.text, errors: errors.text };
  };

/** Request that a command has sent. */
export interface Sent {
  route: string;
  query: Record<string, string>;
  body: unknown;
}

/** Starts a server that gives prepared answers, by method and path, and keeps what it was asked. */
export function startAnswers(answers: Record<string, (sent: Sent) => unknown>) {
  const sent: Sent[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      const url = new URL(request.url);
      const text = await request.text();
      const it = {
        route: `${request.method} ${url.pathname}`,
        query: Object.fromEntries(url.searchParams),
        body: text === "" ? undefined : JSON.parse(text),
      };
      sent.push(it);
      const answer = await answers[it.route]?.(it);
      if (answer instanceof Response) return answer;
      if (answer === undefined) return Response.json({ message: "no such route" }, { status: 404 });
      return Response.json(answer);
    },
  });
  return {
    sent,
    controlPlane: `http://127.0.0.1:${server.port}`,
    [Symbol.dispose]: () => void server.stop(true),
  };
}
