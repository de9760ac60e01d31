import type { AnswerOf } from "../../api/client.ts";
import {
  formatCompact,
  formatCount,
  formatDuration,
  formatRate,
  pluralize,
} from "../../console/format.ts";
import type { CommandOutput } from "../terminal/output.ts";
import { table } from "../terminal/table.ts";
import { fit, plain } from "../terminal/text.ts";

export type Overview = AnswerOf<"GET /v2/overview">;

/** Data that the commands `status` and `top` show. */
interface ShownOverview {
  overview: Overview;
  workspace: string;
  server: string;
}

/** Formats an overview: problems, event rates and backlog, destinations, then sources. */
export function overviewLines(shown: ShownOverview, output: CommandOutput): string[] {
  const { overview, workspace, server } = shown;
  const { totals } = overview;
  const pending =
    totals.lagEvents === 0
      ? "nothing pending"
      : `${formatCompact(totals.lagEvents)} pending, the oldest ${formatDuration(totals.lagSeconds)}`;
  const { received, delivered, dropped, failed } = totals.rates;
  const figures =
    `received ${formatRate(received)}, delivered ${formatRate(delivered)}, ` +
    `dropped ${formatRate(dropped)}, failed ${formatRate(failed)}`;
  return [
    output.paint("bold", fit(`${plain(workspace)} at ${server}`, output.columns)),
    ...problemLines(overview, output),
    "",
    figures,
    `${pending}, ${pluralize(totals.deadLetters, "dead letter")}`,
    ...destinationLines(overview, output),
    ...sourceLines(overview, output),
  ];
}

const secondsSince = (time: string) => Math.max(0, (Date.now() - Date.parse(time)) / 1_000);

function problemLines({ problems, totals }: Overview, output: CommandOutput): string[] {
  if (totals.problems === 0) return [output.paint("green", "nothing needs a person")];
  const hidden = totals.problems - problems.length;
  return [
    output.paint("red", `${pluralize(totals.problems, "thing")} to look at`),
    ...problems.map(({ kind, message, since, count }) => {
      const facts = [
        ...(since === undefined ? [] : [`for ${formatDuration(secondsSince(since))}`]),
        ...(count === undefined || kind === "dead-letters"
          ? []
          : [pluralize(count, "dead letter")]),
      ];
      const text = [plain(message), ...facts].join(", ");
      return `  ${output.paint(colorOf(kind), kind)}  ${fit(text, output.columns - kind.length - 4)}`;
    }),
    ...(hidden > 0 ? [`  and ${formatCount(hidden)} more`] : []),
  ];
}

/** Kinds of problems that do not stop deliveries. They are shown in yellow, other kinds in red. */
const mild = new Set(["dead-letters", "warning", "alert-receiver"]);
const colorOf = (kind: string) => (mild.has(kind) ? "yellow" : "red");

function destinationLines({ destinations, totals }: Overview, output: CommandOutput): string[] {
  const rows = destinations.map((it) => [
    it.name,
    it.type,
    it.rejecting && it.state === "ok" ? "rejecting" : it.state,
    formatRate(it.rates.delivered),
    formatCompact(it.lagEvents),
    it.lagEvents === 0 ? "" : formatDuration(it.lagSeconds),
    formatCompact(it.deadLetters),
  ]);
  const head = ["DESTINATION", "KIND", "STATE", "DELIVERED", "PENDING", "OLDEST", "DEAD"];
  return listLines([head, ...rows], totals.destinations, "destination", output);
}

function sourceLines({ sources, totals }: Overview, output: CommandOutput): string[] {
  const rows = sources.map((it) => [
    it.name,
    it.enabled ? "on" : "off",
    formatRate(it.receivedPerSecond),
  ]);
  const head = ["SOURCE", "STATE", "RECEIVED"];
  return listLines([head, ...rows], totals.sources, "source", output);
}

/**
 * Formats `rows`, whose first row is the heading, as a table after an empty line. Returns no lines
 * if the heading is the only row. If `total` is above the number of items shown, a last line gives
 * the difference. `what` is the noun for an item.
 */
function listLines(rows: string[][], total: number, what: string, output: CommandOutput): string[] {
  if (rows.length === 1) return [];
  const [head = "", ...lines] = table(rows, output.columns);
  const hidden = total - lines.length;
  const more = hidden > 0 ? [`and ${pluralize(hidden, `more ${what}`)}`] : [];
  return ["", output.paint("dim", head), ...lines, ...more];
}
