import type { AnswerOf } from "../../api/client.ts";
import { formatCount, formatDuration, pluralize } from "../../console/format.ts";
import type { CommandCall } from "../connection/client-command.ts";
import { pause, stopSignal } from "../terminal/stop-signal.ts";
import { fit, jsonText, plain } from "../terminal/text.ts";

type ShownReplay = AnswerOf<"GET /v2/replays/{id}">["replay"];

/**
 * Pause in milliseconds before `finishReplay` first requests a replay's state. Each further pause
 * is twice as long as the one before it, up to `LOOK_MS_MAX`.
 */
const LOOK_MS_MIN = 100;
const LOOK_MS_MAX = 1_000;

/** Formats a replay's state and progress as one line of at most `columns` characters. */
export function replayLine(replay: ShownReplay, columns: number): string {
  const { id, kind, state, progress, counts, left, perSecond, waitsFor, error } = replay;
  const parts = [
    kind === "purge"
      ? `${formatCount(counts.done)} deleted`
      : `${formatCount(counts.delivered)} delivered`,
    ...(counts.dropped > 0 ? [`${formatCount(counts.dropped)} dropped`] : []),
    ...(counts.failed > 0 ? [`${formatCount(counts.failed)} failed`] : []),
    ...(counts.pending > 0 ? [`${formatCount(counts.pending)} on their way`] : []),
    ...(waitsFor !== undefined ? [`waits: ${plain(waitsFor)}`] : []),
    ...(waitsFor === undefined && left !== undefined && perSecond > 0
      ? [`${formatDuration(left / perSecond)} left`]
      : []),
    ...(error === undefined ? [] : [plain(error)]),
  ];
  const share = state === "running" ? ` ${Math.floor(progress * 100)} %` : "";
  return fit(`${plain(id)}  ${state}${share}  ${parts.join(", ")}`, columns);
}

/**
 * Prints the state of a replay and returns the command's exit code.
 * - Without `--wait`: 0.
 * - With `--wait`: first waits until the replay ends or the user stops the command. Then 0 if the
 *   replay is done and no event failed or is on its way, else 1.
 */
export async function finishReplay(call: CommandCall, started: ShownReplay): Promise<number> {
  const { client, output, args } = call;
  let replay = started;
  const show = (line: string) => output.print(args.json === true ? jsonText(replay) : line);
  if (args.wait !== true) {
    show(replayLine(replay, output.columns));
    if (replay.state === "running" && args.json !== true) {
      output.note(`pixelmill replay watch ${plain(replay.id)} shows how far it is`);
    }
    return 0;
  }
  const stop = stopSignal(output);
  const params = { id: started.id };
  for (let lookMs = LOOK_MS_MIN; isUnderWay(replay) && !stop.aborted; lookMs *= 2) {
    if (output.isTerminal && args.json !== true) {
      await output.write(`\r\x1b[K${replayLine(replay, output.columns - 1)}`);
    }
    await pause(Math.min(LOOK_MS_MAX, lookMs), stop);
    replay = (await client.call("GET /v2/replays/{id}", { params })).replay;
  }
  if (output.isTerminal && args.json !== true) await output.write("\r\x1b[K");
  show(replayLine(replay, output.columns));
  for (const { reason, count } of replay.failures ?? []) {
    const line = `  ${pluralize(count, "event")}: ${plain(reason)}`;
    if (args.json !== true) output.print(fit(line, output.columns));
  }
  const { state, counts } = replay;
  return state === "done" && counts.failed === 0 && counts.pending === 0 ? 0 : 1;
}

/**
 * Whether a replay still runs, or still waits for the outcome of dead letters that it sent again.
 */
function isUnderWay({ state, counts }: ShownReplay): boolean {
  return state === "running" || (state === "done" && counts.pending > 0);
}
