import { styleText } from "node:util";
import { clientEnvironment } from "../../settings/client-environment.ts";

/** Number of columns of a terminal that does not report its width. */
const COLUMNS_DEFAULT = 80;

type Style = Parameters<typeof styleText>[0];

/** The standard output of a command that is a client of a server. */
export class CommandOutput {
  /** Aborts when the output is no longer read, such as after `| head`. */
  readonly closed: AbortSignal;
  readonly isTerminal = process.stdout.isTTY === true;
  readonly #hasColor = this.isTerminal && clientEnvironment().allowsColor;

  constructor() {
    const closing = new AbortController();
    this.closed = closing.signal;
    process.stdout.on("error", () => closing.abort());
  }

  /** Number of columns of the terminal. Infinite for a file or a pipe. */
  get columns(): number {
    if (!this.isTerminal) return Number.POSITIVE_INFINITY;
    return process.stdout.columns || COLUMNS_DEFAULT;
  }

  get rows(): number {
    return process.stdout.rows || 24;
  }

  paint(style: Style, text: string): string {
    return this.#hasColor ? styleText(style, text, { validateStream: false }) : text;
  }

  print(...lines: string[]): void {
    for (const line of lines) process.stdout.write(`${line}\n`);
  }

  /** Writes a text, and resolves once the reader of the output has room for more. */
  async write(text: string): Promise<void> {
    if (this.closed.aborted || process.stdout.write(text)) return;
    const room = Promise.withResolvers<void>();
    const go = () => room.resolve();
    process.stdout.once("drain", go);
    this.closed.addEventListener("abort", go, { once: true });
    await room.promise;
    this.closed.removeEventListener("abort", go);
  }

  /** Prints a line to standard error, which is separate from the results of `--json` and pipes. */
  note(line: string): void {
    process.stderr.write(`${line}\n`);
  }
}
