import type { RouteDeps } from "../deps.ts";
import { responseHeaders } from "./errors.ts";

/**
 * Time in milliseconds for which a list is written before the event loop runs other requests, and
 * other lists are written.
 */
export const LIST_TURN_MS = 5;
/**
 * Number of UTF-16 code units of a list that are written before the server waits for the client to
 * read them.
 */
export const LIST_CHUNK_CHARS = 256 << 10;

/** Text of a part of a response, and whether it is the last part. */
interface Part {
  text: string;
  done: boolean;
}

/**
 * Responds with a list of any length: `{[key]: [item…], …rest}`. Items are read and written as fast
 * as the client reads, a few milliseconds at a time, so that other requests are not delayed. All
 * lists of a server share these slices of time. A list that fits into one chunk is sent as an
 * ordinary response. The number of longer lists that are sent at the same time is limited. An
 * undefined item is left out: an iterator yields it when it has searched for some time without
 * finding an item.
 */
export async function streamList(
  { deps, workspaceId }: { deps: Pick<RouteDeps, "limiters">; workspaceId: string },
  key: string,
  items: Iterable<unknown>,
  /**
   * Returns the members of the object that follow the items. Called after all items were written.
   */
  rest: () => Record<string, unknown> = () => ({}),
): Promise<Response> {
  const nextPart = listWriter(key, items[Symbol.iterator](), rest);
  const headers = { "Content-Type": "application/json", ...responseHeaders };
  const { listSlices, longLists } = deps.limiters;
  let { text: start, done: isWhole } = nextPart();
  while (!isWhole && start.length < LIST_CHUNK_CHARS) {
    const { text, done } = await listSlices.run(nextPart);
    start += text;
    isWhole = done;
  }
  if (isWhole) return new Response(start, { headers });

  const resources = new DisposableStack();
  resources.use(longLists.acquire(workspaceId));
  const stream = partStream(() => listSlices.run(nextPart), resources, start);
  return new Response(stream, { headers });
}

/**
 * Returns a stream of `start` and the parts that `nextPart` returns, as fast as the client reads.
 * Disposes the resources when all parts are read, at a failure, and when the client leaves.
 */
export function partStream(
  nextPart: () => Part | Promise<Part>,
  resources: Disposable,
  start = "",
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        if (start !== "") controller.enqueue(Buffer.from(start));
      },
      async pull(controller) {
        try {
          const { text, done } = await nextPart();
          // An empty part continues the stream when nothing was found yet.
          controller.enqueue(Buffer.from(text));
          if (!done) return;
          controller.close();
        } catch (error) {
          // Aborts the response, so that the client sees that the list is incomplete.
          controller.error(error);
        }
        resources[Symbol.dispose]();
      },
      cancel: () => resources[Symbol.dispose](),
    },
    { highWaterMark: 0 },
  );
}

/**
 * Returns a function that writes the next part of a list. A part ends after `LIST_TURN_MS` or at
 * `LIST_CHUNK_CHARS`, whichever comes first.
 */
function listWriter(key: string, items: Iterator<unknown>, rest: () => Record<string, unknown>) {
  let before = `{${JSON.stringify(key)}:[`;
  return (): Part => {
    const until = performance.now() + LIST_TURN_MS;
    let text = "";
    do {
      const { done, value } = items.next();
      if (done) return { text: `${text}${before === "," ? "" : before}]${closing(rest())}`, done };
      if (value === undefined) continue;
      text += before + JSON.stringify(value);
      before = ",";
    } while (text.length < LIST_CHUNK_CHARS && performance.now() < until);
    return { text, done: false };
  };
}

/** Returns the JSON text that closes the object after the list, such as `,"paging":…}`. */
function closing(rest: Record<string, unknown>): string {
  return Object.keys(rest).length === 0 ? "}" : `,${JSON.stringify(rest).slice(1)}`;
}
