import { RequestRefused } from "../../api/client.ts";
import type { CommandOutput } from "../terminal/output.ts";
import { plain } from "../terminal/text.ts";

/** State of an import from RudderStack: ids and number of the copies, and whether a step failed. */
export class ImportRun {
  /** Number of copied items. In a dry run, the number of items that an import would copy. */
  copied = 0;
  /** Whether the server refused to create an item or to run another step of the import. */
  hasFailed = false;
  /**
   * Ids of the copies on this server, by the id of the original in RudderStack. In a dry run, it
   * has only the copies that earlier runs made.
   */
  readonly ids = new Map<string, string>();

  constructor(
    private readonly output: CommandOutput,
    readonly isDry: boolean,
  ) {}

  /**
   * Copies an item with `create`, unless an earlier run copied it or this is a dry run. Prints and
   * records a refusal by the server instead of throwing.
   */
  async copy(
    title: string,
    remoteId: string,
    known: ReadonlyMap<string, string>,
    create: () => Promise<string>,
  ): Promise<void> {
    const id = known.get(remoteId);
    if (id !== undefined) {
      this.ids.set(remoteId, id);
      this.output.print(`${plain(title)}: here already`);
      return;
    }
    if (this.isDry) {
      this.copied += 1;
      this.output.print(`${plain(title)}: new`);
      return;
    }
    await this.attempt(title, async () => {
      this.ids.set(remoteId, await create());
      this.copied += 1;
      this.output.print(`${plain(title)}: copied`);
    });
  }

  /**
   * Runs a step of the import. When the server refuses a request of the step, prints and records
   * the failure.
   */
  async attempt(title: string, step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error;
      this.fail(title, error.message);
    }
  }

  fail(title: string, reason: string): void {
    this.hasFailed = true;
    this.output.note(`pixelmill: ${plain(title)}: ${plain(reason)}`);
  }
}
