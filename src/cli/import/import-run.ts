import { RequestRefused } from "../../api/client.ts";
import type { CommandOutput } from "../terminal/output.ts";
import { plain } from "../terminal/text.ts";

/** State of one import: what it has copied, and the ids of the copies. */
export class ImportRun {
  readonly #output: CommandOutput;
  readonly isDry: boolean;
  /** Number of items that were copied, or would be. */
  copied = 0;
  failures = 0;
  /** Id in RudderStack → id on this server. In a dry run, only items of earlier runs are here. */
  readonly ids = new Map<string, string>();

  constructor(output: CommandOutput, isDry: boolean) {
    this.#output = output;
    this.isDry = isDry;
  }

  /**
   * Copies an item unless an earlier run did, and prints one line. Returns whether this run copied
   * it. A refusal of the server is printed, and does not stop the import.
   */
  async copy(
    title: string,
    remoteId: string,
    known: ReadonlyMap<string, string>,
    create: () => Promise<string>,
  ): Promise<boolean> {
    const id = known.get(remoteId);
    if (id !== undefined) {
      this.ids.set(remoteId, id);
      this.#output.print(`${plain(title)}: here already`);
      return false;
    }
    if (this.isDry) {
      this.copied += 1;
      this.#output.print(`${plain(title)}: new`);
      return false;
    }
    return await this.attempt(title, async () => {
      this.ids.set(remoteId, await create());
      this.copied += 1;
      this.#output.print(`${plain(title)}: copied`);
    });
  }

  /** Runs a step. Returns whether it succeeded. A refusal of the server is printed and counted. */
  async attempt(title: string, step: () => Promise<void>): Promise<boolean> {
    try {
      await step();
      return true;
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error;
      this.fail(title, error.message);
      return false;
    }
  }

  fail(title: string, reason: string): void {
    this.failures += 1;
    this.#output.note(`pixelmill: ${plain(title)}: ${plain(reason)}`);
  }
}
