import { RequestRefused } from "../../api/client.ts";
import { type CommandCall, clientCommand } from "../connection/client-command.ts";
import { passingFailureOf } from "../connection/failure.ts";
import { idOf, namesOf } from "../connection/names.ts";
import { pause, stopSignal } from "../terminal/stop-signal.ts";
import { stages, type TailFilter, type TailLine, TailView, tailFilter } from "./tail-view.ts";

/**
 * Milliseconds between the loss of a live tail's connection and the first attempt to connect again.
 * The pause doubles with each attempt, up to `RETRY_MS_MAX`.
 */
const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 15_000;

export const tail = clientCommand(
  "tail",
  "Follow events on their way; JSON lines when piped",
  {
    source: { type: "string", description: "of this source alone, by name or id" },
    destination: { type: "string", description: "outcomes at this destination alone" },
    stage: { type: "string", description: `some of ${stages.join(",")}`, valueHint: "list" },
    event: { type: "string", description: "with this name, such as of a track", valueHint: "name" },
    user: { type: "string", description: "with this userId or anonymousId", valueHint: "id" },
    grep: { type: "string", description: "with this text in their JSON", valueHint: "text" },
    count: { type: "string", description: "stop after this many lines", valueHint: "number" },
    json: { type: "boolean", description: "print JSON lines" },
    text: { type: "boolean", description: "print text, also when piped" },
  },
  async (call) => {
    const { args, output, client } = call;
    const filter = tailFilter(args);
    const [sources, destinations] = await Promise.all([
      namesOf(client, "source"),
      namesOf(client, "destination"),
    ]);
    const asked = {
      ...(args.source !== undefined && {
        sourceId: idOf("source", sources, String(args.source)),
      }),
      ...(args.destination !== undefined && {
        destinationId: idOf("destination", destinations, String(args.destination)),
      }),
    };
    const asJson = args.json === true || (!output.isTerminal && args.text !== true);
    const names = new Map([...sources, ...destinations].map(({ id, name }) => [id, name]));
    const view = new TailView(output, names, asJson);
    await follow(call, asked, filter, view);
    output.note(view.summary());
    return 0;
  },
);

/**
 * Prints the live tail until the user stops it or `count` events are shown. Connects again after a
 * connection is lost.
 */
async function follow(
  { client, server, output }: CommandCall,
  asked: { sourceId?: string; destinationId?: string },
  { matches, count }: TailFilter,
  view: TailView,
): Promise<void> {
  const stop = stopSignal(output);
  const done = new AbortController();
  const ends = AbortSignal.any([stop, done.signal]);
  let lostAt: number | undefined;
  let retryMs = RETRY_MS_MIN;
  let wasOpen = false;
  const opened = () => {
    if (lostAt !== undefined) {
      const seconds = Math.ceil((performance.now() - lostAt) / 1_000);
      output.note(`connected again; events of ${seconds} s are left out`);
    } else output.note(`following ${server}`);
    wasOpen = true;
    lostAt = undefined;
    retryMs = RETRY_MS_MIN;
  };
  while (!ends.aborted) {
    let reason = "its stream ended";
    try {
      for await (const { name, data } of client.follow(asked, ends, opened)) {
        const line = { stage: name, ...data } as TailLine;
        await view.add(line, name === "missed" || matches(line));
        if (view.shown >= count) done.abort();
        if (ends.aborted) return;
      }
    } catch (error) {
      if (ends.aborted) return;
      const failure = passingFailureOf(error, server);
      if (!wasOpen || failure === undefined) throw error;
      reason = failure;
      if (error instanceof RequestRefused) retryMs = Math.max(retryMs, retryAfterMs(error));
    }
    if (lostAt === undefined) output.note(`tail lost: ${reason}; connecting again`);
    lostAt ??= performance.now();
    await pause(retryMs, ends);
    retryMs = Math.min(RETRY_MS_MAX, retryMs * 2);
  }
}

const retryAfterMs = ({ retryAfter = 0 }: RequestRefused) =>
  Math.min(RETRY_MS_MAX, retryAfter * 1_000);
