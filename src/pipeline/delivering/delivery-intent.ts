import type { Output } from "../model/lane-event.ts";
import type { DeliveryIntent } from "../model/lane-record.ts";

/**
 * Creates the intent of a batched delivery: its name, and which events belong to it. It is stored
 * before the delivery begins, so that the same delivery can be repeated after a crash. The name
 * consists of the time, so that names ascend, the log position of the first event, and a random
 * part. The random part keeps names unique even if a restored backup or another server writes to
 * the same bucket.
 */
export function createDeliveryIntent(outputs: readonly Output[], now: number): DeliveryIntent {
  const ends: Record<string, number> = {};
  const replays: Record<string, Record<string, number>> = {};
  let letter: string | undefined;
  for (const { laneEvent } of outputs) {
    const { origin } = laneEvent;
    if ("requeued" in origin) {
      if (letter === undefined || origin.requeued.id > letter) letter = origin.requeued.id;
      continue;
    }
    if ("replayId" in origin) replays[origin.replayId] ??= {};
    const positions = "replayId" in origin ? replays[origin.replayId]! : ends;
    positions[origin.log] = Math.max(positions[origin.log] ?? 0, origin.sequence + 1);
  }
  const time = new Date(now).toISOString().replace(/[-:.]/g, "");
  const random = crypto.getRandomValues(new Uint8Array(6)).toHex();
  const intent: DeliveryIntent = { name: `${time}-${positionName(outputs[0]!)}-${random}`, ends };
  if (letter !== undefined) intent.letter = letter;
  if (Object.keys(replays).length > 0) intent.replays = replays;
  return intent;
}

function positionName({ laneEvent: { origin } }: Output): string {
  if ("requeued" in origin) return "replay";
  const position = `${origin.log.replace(/[^\w.]/g, "_")}-${origin.sequence}`;
  return "replayId" in origin ? `replay-${position}` : position;
}
