import type { Output } from "../model/lane-event.ts";
import type { DeliveryIntent } from "../model/lane-record.ts";

/**
 * What is to be remembered of a delivery before it begins. Its name ascends with time and has the
 * place of its first event; the rest of the name is chance, since a restored backup, or another
 * server that writes to the same place, has the same positions.
 */
export function createDeliveryIntent(outputs: readonly Output[], now: number): DeliveryIntent {
  const ends: Record<string, number> = {};
  const replays: Record<string, Record<string, number>> = {};
  let letter: string | undefined;
  for (const { item } of outputs) {
    const { origin } = item;
    if ("replayOf" in origin) {
      if (letter === undefined || origin.replayOf.id > letter) letter = origin.replayOf.id;
      continue;
    }
    if ("replayId" in origin) replays[origin.replayId] ??= {};
    const of = "replayId" in origin ? replays[origin.replayId]! : ends;
    of[origin.log] = Math.max(of[origin.log] ?? 0, origin.sequence + 1);
  }
  const time = new Date(now).toISOString().replace(/[-:]|\.\d+/g, "");
  const chance = crypto.getRandomValues(new Uint8Array(6)).toHex();
  const name = `${time}-${placeOf(outputs[0])}-${chance}`;
  return {
    ...{ name, ends },
    ...(letter !== undefined && { letter }),
    ...(Object.keys(replays).length > 0 && { replays }),
  };
}

function placeOf(output: Output | undefined): string {
  if (output === undefined || "replayOf" in output.item.origin) return "replay";
  const { origin } = output.item;
  const place = `${origin.log.replace(/[^\w.]/g, "_")}-${origin.sequence}`;
  return "replayId" in origin ? `replay-${place}` : place;
}
