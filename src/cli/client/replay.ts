import { type ArgsDef, type CommandDef, defineCommand } from "citty";
import { defined } from "../../defined.ts";
import { clientCommand } from "../connection/client-command.ts";
import { idOf, namesOf } from "../connection/names.ts";
import { switchFlag, textFlag } from "../terminal/flags.ts";
import { jsonText } from "../terminal/text.ts";
import { finishReplay, replayLine } from "./replay-text.ts";
import { countOf, timeOf } from "./time-flag.ts";

const json = switchFlag("print JSON");
const wait = switchFlag("wait for the end; exit code 1 if events fail");
const id = { type: "positional", required: true, description: "id of the replay" } as const;

const filters: ArgsDef = {
  type: textFlag("events of this type, such as track"),
  event: textFlag("track events of this name"),
  user: textFlag("events of this userId"),
  grep: textFlag("events with this text in their JSON"),
};

const start = clientCommand(
  "replay start",
  "Send stored events to a destination again, through the code that is live now",
  {
    destination: { ...textFlag("name or id of the destination"), required: true },
    from: { ...textFlag("time of the first event: ISO 8601, or 30m, 2h, 7d ago"), required: true },
    to: textFlag("events before this time alone [now]"),
    source: textFlag("events of this source alone, by name or id"),
    ...filters,
    rate: textFlag("events a second, at most", "number"),
    wait,
    json,
  },
  async (call) => {
    const { client, args } = call;
    const [from, to, rate] = [timeOf(args, "from")!, timeOf(args, "to"), countOf(args, "rate")];
    const destinations = await namesOf(client, "destination");
    const destinationId = idOf("destination", destinations, String(args.destination));
    const sourceId =
      args.source === undefined
        ? undefined
        : idOf("source", await namesOf(client, "source"), String(args.source));
    const given = { type: args.type, event: args.event, userId: args.user, text: args.grep };
    // The values of these flags are texts.
    const filter = defined(given) as Record<string, string>;
    const { replay } = await client.call("POST /v2/replays", {
      body: {
        destinationId,
        from,
        ...defined({ to, sourceId, rate }),
        ...(Object.keys(filter).length > 0 && { filter }),
      },
    });
    return finishReplay(call, replay);
  },
);

const list = clientCommand(
  "replay list",
  "List replays that run, and the last ones that ended",
  { json },
  async ({ client, args, output }) => {
    const { replays } = await client.call("GET /v2/replays");
    if (args.json === true) output.print(jsonText(replays, 2));
    else if (replays.length === 0) output.print("no replays");
    else output.print(...replays.map((it) => replayLine(it, output.columns)));
    return 0;
  },
);

const watch = clientCommand(
  "replay watch",
  "Wait for the end of a replay; exit code 1 if events failed",
  { id, json },
  async (call) => {
    const params = { id: String(call.args.id) };
    const { replay } = await call.client.call("GET /v2/replays/{id}", { params });
    return finishReplay({ ...call, args: { ...call.args, wait: true } }, replay);
  },
);

const cancel = clientCommand(
  "replay cancel",
  "End a replay before its time",
  { id, json },
  async ({ client, args, output }) => {
    const params = { id: String(args.id) };
    const { replay } = await client.call("POST /v2/replays/{id}/cancel", { params });
    output.print(args.json === true ? jsonText(replay) : replayLine(replay, output.columns));
    return 0;
  },
);

export const replay = defineCommand({
  meta: { name: "replay", description: "Send stored events to a destination again" },
  subCommands: { start, list, watch, cancel },
}) as CommandDef;
