import { once } from "node:events";
import { styleText } from "node:util";
import { clientEnvironment } from "../../settings/client-environment.ts";

/** Number of columns of a terminal that does not report its width. */
const COLUMNS_DEFAULT = 80;

type Style = Parameters<typeof styleText>[0];

/** Output of a client command: results to standard output, notes to standard error. */
export class CommandOutput {
  /** Signal that aborts when the program that reads the output, such as `head`, has ended. */
  readonly closed: AbortSignal;
  readonly isTerminal = process.stdout.isTTY === true;
  readonly #hasColor = this.isTerminal && clientEnvironment().allowsColor;

  constructor() {
    const closing = new AbortController();
    this.closed = closing.signal;
    process.stdout.on("error", () => closing.abort());
  }

  /** Number of columns of the terminal, or infinity when the output is a file or a pipe. */
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

  /** Writes a text to standard output. Resolves once the output can take more, or is closed. */
  async write(text: string): Promise<void> {
    if (this.closed.aborted || process.stdout.write(text)) return;
    await once(process.stdout, "drain", { signal: this.closed }).catch(() => {});
  }

  /** Prints a line to standard error, so that a program that reads the results does not get it. */
  note(line: string): void {
    process.stderr.write(`${line}\n`);
  }
}
