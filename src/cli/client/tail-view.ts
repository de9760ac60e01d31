import { formatCount } from "../../console/format.ts";
import { StartError } from "../../errors.ts";
import { textSearch } from "../../event/text-search.ts";
import type { CommandOutput } from "../terminal/output.ts";
import { fit, jsonText, plain } from "../terminal/text.ts";
import { countOf } from "./time-flag.ts";

export const stages = ["received", "delivered", "dropped", "dead-letter"];

/**
 * A message of a live tail. `count` belongs to the stage `missed`: it is the number of events that
 * the server left out of the tail.
 */
export interface TailLine {
  stage: string;
  sourceId?: string;
  destinationId?: string;
  at?: string;
  messageId?: string;
  event?: unknown;
  reason?: string;
  count?: number;
}

export interface TailFilter {
  matches(line: TailLine): boolean;
  /** Number of events that the command `tail` shows before it ends. */
  count: number;
}

/** Makes the filter of `tail` from its flags. Throws `StartError` if a flag's value is invalid. */
export function tailFilter(args: Record<string, unknown>): TailFilter {
  const given = (name: string) => (args[name] === undefined ? undefined : String(args[name]));
  const chosen = given("stage")?.split(",");
  const unknown = chosen?.find((stage) => !stages.includes(stage));
  if (unknown !== undefined) {
    throw new StartError(`Unknown stage ${unknown}; expected some of ${stages.join(", ")}`);
  }
  const count = countOf(args, "count") ?? Number.POSITIVE_INFINITY;
  const [event, user, grep] = [given("event"), given("user"), given("grep")];
  const holdsText = grep === undefined ? undefined : textSearch(grep);
  return {
    count,
    matches(line) {
      if (chosen !== undefined && !chosen.includes(line.stage)) return false;
      const fields = fieldsOf(line.event);
      if (event !== undefined && fields.event !== event && fields.name !== event) return false;
      if (user !== undefined && ![fields.userId, fields.anonymousId].includes(user)) return false;
      return holdsText?.(JSON.stringify(line).toLowerCase()) !== false;
    },
  };
}

const fieldsOf = (event: unknown) =>
  (typeof event === "object" && event !== null ? event : {}) as Record<string, unknown>;

const colors = {
  received: "cyan",
  delivered: "green",
  dropped: "yellow",
  "dead-letter": "red",
} as const;
const STAGE_WIDTH = 11;

/**
 * Prints the messages of a live tail as text or JSON. Counts messages that it shows, messages that
 * the filters leave out, and events that the server did not send.
 */
export class TailView {
  shown = 0;
  #filtered = 0;
  #missed = 0;

  constructor(
    readonly output: CommandOutput,
    /** Names of the workspace's sources and destinations, by id. */
    readonly names: ReadonlyMap<string, string>,
    readonly asJson: boolean,
  ) {}

  /**
   * Counts a message of the live tail, and prints it if `isWanted` is true. Resolves when the
   * output can take more data.
   */
  async add(line: TailLine, isWanted: boolean): Promise<void> {
    if (line.stage === "missed") this.#missed += line.count ?? 0;
    else if (isWanted) this.shown++;
    else this.#filtered++;
    if (isWanted) await this.output.write(`${this.asJson ? jsonText(line) : this.#text(line)}\n`);
  }

  /**
   * Returns a text with the number of messages shown. Adds the numbers of messages that the filters
   * left out and of events that the server did not send, each unless it is 0.
   */
  summary(): string {
    const parts = [
      `${formatCount(this.shown)} shown`,
      ...(this.#filtered > 0 ? [`${formatCount(this.#filtered)} left out by filters`] : []),
      ...(this.#missed > 0
        ? [`${formatCount(this.#missed)} missed: more came than a tail is sent`]
        : []),
    ];
    return parts.join(", ");
  }

  #text(line: TailLine): string {
    const { output } = this;
    if (line.stage === "missed") {
      return output.paint("yellow", `… ${formatCount(line.count ?? 0)} missed`);
    }
    const time = plain(/T(.*)Z$/.exec(line.at ?? "")?.[1] ?? "");
    const color = colors[line.stage as keyof typeof colors] ?? "white";
    const stage = output.paint(color, plain(line.stage).padEnd(STAGE_WIDTH));
    const width = output.columns - time.length - STAGE_WIDTH - 2;
    return `${output.paint("dim", time)} ${stage} ${fit(this.#rest(line), width)}`;
  }

  #rest({ sourceId = "", destinationId, event, reason }: TailLine): string {
    const source = this.names.get(sourceId) ?? sourceId;
    const destination = destinationId && (this.names.get(destinationId) ?? destinationId);
    const { type, event: eventName, name, userId, anonymousId } = fieldsOf(event);
    const parts = [
      destination === undefined ? source : `${source} → ${destination}`,
      ...(reason === undefined ? [] : [reason]),
      [type, eventName ?? name].filter((it) => typeof it === "string").join(" "),
      userId ?? anonymousId,
    ];
    return plain(parts.filter((it) => typeof it === "string" && it !== "").join("  "));
  }
}
