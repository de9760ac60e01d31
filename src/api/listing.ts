import { LIST_CHUNK_CHARS, LIST_TURN_MS, LISTS_OF_WORKSPACE_MAX } from "../limits.ts";
import { answerHeaders, TooMany } from "./errors.ts";
import type { Call } from "./route.ts";

/** Lists under way, by workspace. */
const underWay = new Map<string, number>();

/**
 * A list without pages, `{[key]: [item…]}`. Items are read and written as the client takes them,
 * a few milliseconds at a time, so that a list of any length delays no other request. One that is
 * ready within its first turn is an ordinary answer.
 */
export function listed(
  { workspaceId }: Pick<Call<string, unknown, unknown>, "workspaceId">,
  key: string,
  items: Iterable<unknown>,
): Response {
  const parts = writer(key, items[Symbol.iterator]());
  const first = parts();
  const headers = { "Content-Type": "application/json", ...answerHeaders };
  if (first.done) return new Response(first.text, { headers });

  const leave = enter(workspaceId);
  const partOrLeave = () => {
    try {
      return parts();
    } catch (error) {
      // The answer breaks off; its client sees that it is not whole.
      leave();
      throw error;
    }
  };
  let text: string | undefined = first.text;
  let done = false;
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (text === undefined) {
          await nextTurn();
          ({ text, done } = partOrLeave());
        }
        controller.enqueue(Buffer.from(text));
        text = undefined;
        if (!done) return;
        controller.close();
        leave();
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  );
  return new Response(stream, { headers });
}

/** Writes a list in turns of `LIST_TURN_MS`, or of a chunk when that comes first. */
function writer(key: string, items: Iterator<unknown>) {
  let before = `{${JSON.stringify(key)}:[`;
  return (): { text: string; done: boolean } => {
    const until = performance.now() + LIST_TURN_MS;
    let text = "";
    do {
      const { done, value } = items.next();
      if (done) return { text: `${text}${before === "," ? "" : before}]}`, done: true };
      text += before + JSON.stringify(value);
      before = ",";
    } while (text.length < LIST_CHUNK_CHARS && performance.now() < until);
    return { text, done: false };
  };
}

/** Takes one of the workspace's places, and returns what gives it back, once. */
function enter(workspaceId: string): () => void {
  const lists = underWay.get(workspaceId) ?? 0;
  if (lists >= LISTS_OF_WORKSPACE_MAX) {
    throw new TooMany(1, `Expected at most ${LISTS_OF_WORKSPACE_MAX} long lists at once, got more`);
  }
  underWay.set(workspaceId, lists + 1);
  let left = false;
  return () => {
    if (left) return;
    left = true;
    const others = (underWay.get(workspaceId) ?? 1) - 1;
    if (others > 0) underWay.set(workspaceId, others);
    else underWay.delete(workspaceId);
  };
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
