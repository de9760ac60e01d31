import type { RouteDeps } from "../deps.ts";
import { responseHeaders } from "./errors.ts";

/** Time for which a list without pages is written before other requests get their turn. */
export const LIST_TURN_MS = 5;
/** UTF-16 units that are written of a list without pages before the client must take them. */
export const LIST_CHUNK_CHARS = 256 << 10;

/**
 * A list that may be long, `{[key]: [item…], …rest}`. Items are read and written as the client
 * takes them, a few milliseconds at a time, so that a list of any length delays no other request. A
 * list that fits into one chunk is an ordinary answer, however long a busy machine takes for it.
 */
export async function streamList(
  { deps, workspaceId }: { deps: Pick<RouteDeps, "limiters">; workspaceId: string },
  key: string,
  items: Iterable<unknown>,
  /** The members behind the items; asked for when the items are written. */
  rest: () => Record<string, unknown> = () => ({}),
): Promise<Response> {
  const nextPart = listWriter(key, items[Symbol.iterator](), rest);
  const headers = { "Content-Type": "application/json", ...responseHeaders };
  let start = "";
  while (start.length < LIST_CHUNK_CHARS) {
    const { text, done } = nextPart();
    start += text;
    if (done) return new Response(start, { headers });
    await nextTurn();
  }

  const held = new DisposableStack();
  held.use(deps.limiters.longLists.acquire(workspaceId));
  const stream = new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(Buffer.from(start)),
      async pull(controller) {
        try {
          await nextTurn();
          const { text, done } = nextPart();
          controller.enqueue(Buffer.from(text));
          if (!done) return;
          controller.close();
        } catch (error) {
          // The answer breaks off, so that its client sees that the list is not complete.
          controller.error(error);
        }
        held.dispose();
      },
      cancel: () => held.dispose(),
    },
    { highWaterMark: 0 },
  );
  return new Response(stream, { headers });
}

/** Writes a list in turns of `LIST_TURN_MS`, or of a chunk when that comes first. */
function listWriter(key: string, items: Iterator<unknown>, rest: () => Record<string, unknown>) {
  let before = `{${JSON.stringify(key)}:[`;
  return (): { text: string; done: boolean } => {
    const until = performance.now() + LIST_TURN_MS;
    let text = "";
    do {
      const { done, value } = items.next();
      if (done) return { text: `${text}${before === "," ? "" : before}]${closing(rest())}`, done };
      text += before + JSON.stringify(value);
      before = ",";
    } while (text.length < LIST_CHUNK_CHARS && performance.now() < until);
    return { text, done: false };
  };
}

/** The rest of the object as it follows a list: `,"paging":…}`. */
function closing(rest: Record<string, unknown>): string {
  return Object.keys(rest).length === 0 ? "}" : `,${JSON.stringify(rest).slice(1)}`;
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
