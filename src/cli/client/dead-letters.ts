import { type ArgsDef, type CommandDef, defineCommand } from "citty";
import type { AnswerOf, Client, QueryOf } from "../../api/client.ts";
import { formatCount, formatDuration, pluralize } from "../../console/format.ts";
import { defined } from "../../defined.ts";
import { StartError } from "../../errors.ts";
import { type CommandCall, clientCommand } from "../connection/client-command.ts";
import { idOf, namesOf } from "../connection/names.ts";
import { confirmed } from "../terminal/confirm.ts";
import { switchFlag, textFlag } from "../terminal/flags.ts";
import { fit, jsonText, plain } from "../terminal/text.ts";
import { finishReplay } from "./replay-text.ts";
import { countOf, timeOf } from "./time-flag.ts";

const json = switchFlag("print JSON lines");
const destination = textFlag("of this destination alone, by name or id");

const filters: ArgsDef = {
  destination,
  group: textFlag("of this group alone; dead-letters groups prints ids"),
  reason: textFlag("with this text in the reason"),
  from: textFlag("given up since: ISO 8601, or 30m, 2h, 7d ago"),
  to: textFlag("given up before"),
};

type Letter = AnswerOf<"GET /v2/dead-letters">["deadLetters"][number];
type LettersQuery = QueryOf<"GET /v2/dead-letters">;
type Filter = Pick<LettersQuery, "destinationId" | "groupId" | "reason" | "from" | "to">;

/**
 * Number of dead letters that `list` prints by default. It requests at most `PAGE_LETTERS` at once.
 */
const LIST_DEFAULT = 20;
const PAGE_LETTERS = 100;

const groups = clientCommand(
  "dead-letters groups",
  "List why events were given up, and how often, most frequent first",
  { destination, json },
  async ({ client, args, output }) => {
    const destinations = await namesOf(client, "destination");
    const names = new Map(destinations.map(({ id, name }) => [id, name]));
    const answer = await client.call("GET /v2/dead-letter-groups", {
      query: destinationOf(args, destinations),
    });
    for (const it of answer.deadLetterGroups) {
      if (args.json === true) output.print(jsonText(it));
      else {
        const where = plain(names.get(it.destinationId) ?? it.destinationId);
        const count = formatCount(it.count).padStart(COUNT_WIDTH);
        output.print(
          fit(`${count}  ${where}: ${plain(it.reason)}`, output.columns),
          output.paint("dim", `${" ".repeat(COUNT_WIDTH)}  ${it.id}, last ${ago(it.lastAt)}`),
        );
      }
    }
    if (args.json === true) return 0;
    output.print(`${pluralize(answer.letters, "dead letter")}`);
    return 0;
  },
);
const COUNT_WIDTH = 7;

const list = clientCommand(
  "dead-letters list",
  "List events that were given up, oldest first",
  {
    ...filters,
    count: textFlag(`how many [${LIST_DEFAULT}]`, "number"),
    json,
  },
  async ({ client, args, output }) => {
    const filter = await filterOf(client, args);
    const count = countOf(args, "count") ?? LIST_DEFAULT;
    let isEmpty = true;
    for await (const letter of lettersOf(client, filter, count)) {
      isEmpty = false;
      if (args.json === true) await output.write(`${jsonText(letter)}\n`);
      else {
        const event = letter.event as { type?: unknown; event?: unknown } | null;
        const what = [event?.type, event?.event].filter((it) => typeof it === "string").join(" ");
        const head = `${letter.id}  ${letter.createdAt}  ${plain(what)}`;
        await output.write(`${fit(head, output.columns)}\n`);
        await output.write(`  ${fit(plain(letter.reason), output.columns - 2)}\n`);
      }
      if (output.closed.aborted) return 0;
    }
    if (isEmpty && args.json !== true) output.print("no dead letters");
    return 0;
  },
);

async function* lettersOf(client: Client, filter: Filter, count: number): AsyncGenerator<Letter> {
  let after: string | null = null;
  for (let left = count; left > 0; ) {
    const query: LettersQuery = { ...filter, count: Math.min(left, PAGE_LETTERS) };
    if (after !== null) query.after = after;
    const answer = await client.call("GET /v2/dead-letters", { query });
    yield* answer.deadLetters;
    left -= answer.deadLetters.length;
    const next: string | undefined = answer.paging.next;
    if (next === undefined) return;
    after = new URLSearchParams(next.split("?")[1]).get("after");
  }
}

const all = switchFlag("all of them, without a filter");
const wait = switchFlag("wait for the outcome");

const replay = clientCommand(
  "dead-letters replay",
  "Send dead letters once more, through the code that is live now",
  {
    ...filters,
    all,
    rate: textFlag("dead letters a second, at most", "number"),
    wait,
    json,
  },
  async (call) => {
    const { selection } = await selectionOf(call);
    const rate = countOf(call.args, "rate");
    const answer = await call.client.call("POST /v2/dead-letters/replay", {
      body: { ...selection, ...(rate !== undefined && { rate }) },
    });
    return answer.replay === undefined ? 0 : finishReplay(call, answer.replay);
  },
);

const purge = clientCommand(
  "dead-letters purge",
  "Delete dead letters for good",
  {
    ...filters,
    all,
    yes: { type: "boolean", description: "do not ask" },
    wait,
    json,
  },
  async (call) => {
    const { client, args, output } = call;
    const { selection, total } = await selectionOf(call);
    if (args.yes !== true) {
      const question = `Delete up to ${pluralize(total, "dead letter")} for good?`;
      if (!output.isTerminal || !process.stdin.isTTY) {
        throw new StartError(`${question} Expected --yes, since this is no terminal`);
      }
      if (!(await confirmed(question))) {
        output.print("nothing was deleted");
        return 1;
      }
    }
    const body = { ...selection, expected: total };
    const answer = await client.call("POST /v2/dead-letters/purge", { body });
    return answer.replay === undefined ? 0 : finishReplay(call, answer.replay);
  },
);

/**
 * Returns the selection of dead letters that the flags describe, and the number of selected ones.
 * Throws when the flags contain neither a filter nor `--all`.
 */
async function selectionOf({ client, args }: CommandCall) {
  const filter = await filterOf(client, args);
  if (Object.keys(filter).length === 0 && args.all !== true) {
    throw new StartError("Expected a filter such as --group or --destination, or --all");
  }
  const query = { ...filter, count: 1 };
  const { paging, asOf } = await client.call("GET /v2/dead-letters", { query });
  return { selection: { filter, all: true, before: asOf }, total: paging.total };
}

async function filterOf(client: Client, args: Record<string, unknown>): Promise<Filter> {
  const [from, to] = [timeOf(args, "from"), timeOf(args, "to")];
  const destinations = args.destination === undefined ? [] : await namesOf(client, "destination");
  return {
    ...destinationOf(args, destinations),
    ...(args.group !== undefined && { groupId: String(args.group) }),
    ...(args.reason !== undefined && { reason: String(args.reason) }),
    ...defined({ from, to }),
  };
}

function destinationOf(args: Record<string, unknown>, known: { id: string; name: string }[]) {
  if (args.destination === undefined) return {};
  return { destinationId: idOf("destination", known, String(args.destination)) };
}

function ago(time: string): string {
  return `${formatDuration(Math.max(0, (Date.now() - Date.parse(time)) / 1_000))} ago`;
}

export const deadLetters = defineCommand({
  meta: { name: "dead-letters", description: "Events that were given up: list, replay, purge" },
  subCommands: { groups, list, replay, purge },
}) as CommandDef;
