import type { RouteDeps } from "../deps.ts";
import { responseHeaders } from "./errors.ts";

/**
 * Milliseconds after which the server interrupts the writing of a list, to handle other requests
 * and other lists.
 */
export const LIST_TURN_MS = 5;
/**
 * A part of a list ends when it has at least this many UTF-16 code units. The server writes the
 * next part when the client has read this one.
 */
export const LIST_CHUNK_CHARS = 256 << 10;

/** Part of a response as text. `done` is true for the last part. */
interface Part {
  text: string;
  done: boolean;
}

/**
 * Responds with a list of any length: `{[key]: [item…], …rest}`. A list of at least
 * `LIST_CHUNK_CHARS` characters is sent as fast as the client reads; rejects with `TooManyRequests`
 * if the workspace already reads too many such lists. `items` may yield undefined, which is
 * skipped, so that a long search can pause.
 */
export async function streamList(
  { deps, workspaceId }: { deps: Pick<RouteDeps, "limiters">; workspaceId: string },
  key: string,
  items: Iterable<unknown>,
  /**
   * Returns the fields that follow the list in the object. Called after the last item was written.
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
 * Returns a stream of `start`, followed by the parts that `nextPart` returns. Calls `nextPart` as
 * fast as the client reads. Disposes `resources` after the last part, after an error, and when the
 * client disconnects.
 */
function partStream(
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
 * Responds with lines of JSON, which a browser stores as the file `name`. The lines are in the
 * parts that `nextPart` returns. Disposes `resources` after the last part, after an error, and when
 * the client disconnects.
 */
export function linesResponse(
  name: string,
  nextPart: () => Part | Promise<Part>,
  resources: Disposable,
): Response {
  const headers = {
    ...responseHeaders,
    "Content-Type": "application/x-ndjson",
    "Content-Disposition": `attachment; filename="${name}"`,
  };
  return new Response(partStream(nextPart, resources), { headers });
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
