import { Type } from "@sinclair/typebox";
import type { TailMessage } from "../../../pipeline/live-tail.ts";
import { TAIL_PENDING_BYTES_MAX, TAILS_MAX, TAILS_OF_TOKEN_MAX } from "../../../settings/limits.ts";
import { createPlaces } from "../../places.ts";
import { authenticate, permit } from "../../request/authenticate.ts";
import { responseHeaders, TooManyRequests } from "../../response/errors.ts";
import { EVENT_STREAM, type RequestContext, route } from "../../route.ts";
import { Id, isoTime } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";

/**
 * Pause between two signs of life of a live tail, which also checks whether its token is still
 * valid.
 */
const TAIL_HEARTBEAT_MS = 1_000;
/** Signs of life in a row that a live tail's reader does not take before the tail ends. */
const TAIL_STALLED_BEATS_MAX = 30;

const TailFilter = { sourceId: Type.Optional(Id), destinationId: Type.Optional(Id) };
type TailFilter = { sourceId?: string; destinationId?: string };

const exampleMessage: TailMessage = {
  stage: "delivered",
  sourceId: example.ids.source,
  destinationId: example.ids.destination,
  at: Date.parse("2026-02-16T01:11:11.586Z"),
  messageId: example.event.messageId,
  event: example.event,
};

const places = createPlaces({ each: TAILS_OF_TOKEN_MAX, all: TAILS_MAX });
const TAIL_RETRY_SECONDS = 10;
const tooManyTails = `Expected at most ${TAILS_OF_TOKEN_MAX} live tails of a token and ${TAILS_MAX} in all, got more`;

export const tailRoutes = [
  route("GET /v2/events", {
    summary: "Follow events on their way, as server-sent events",
    needs: ["events:read"],
    query: TailFilter,
    answer: Type.String({
      description:
        "One event per message, named by its stage: received, delivered, dropped, dead-letter; " +
        "`missed` tells how many a slow reader did not get",
    }),
    media: EVENT_STREAM,
    example: { answer: serverSentEvent(exampleMessage) },
    handle(call) {
      const leave = places.enter(call.principal.tokenId);
      if (leave === undefined) throw new TooManyRequests(TAIL_RETRY_SECONDS, tooManyTails);
      return new Response(tailStream(call, call.query, leave), {
        // The connection has no idle timeout, and is not used again.
        headers: { ...responseHeaders, "Content-Type": EVENT_STREAM, Connection: "close" },
      });
    },
  }),
] as const;

/**
 * The stream of a live tail. A reader that does not keep up misses messages and is told how many;
 * when the token stops working the stream ends.
 */
function tailStream(
  call: RequestContext<string, unknown, unknown>,
  filter: TailFilter,
  leave: () => void,
): ReadableStream {
  const { deps, workspaceId, closing } = call;
  const headers = new Headers(call.request.headers);
  let end = () => {};

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        let missed = 0;
        const send = (text: string) => controller.enqueue(Buffer.from(text));
        const unsubscribe = deps.pipeline.liveTail.subscribe(workspaceId, (message) => {
          if (!matches(message, filter)) return;
          if ((controller.desiredSize ?? 0) <= 0) {
            missed++;
            return;
          }
          if (missed > 0) send(`event: missed\ndata: {"count":${missed}}\n\n`);
          missed = 0;
          send(serverSentEvent(message));
        });
        let stalled = 0;
        const heartbeat = setInterval(() => {
          const room = (controller.desiredSize ?? 0) > 0;
          stalled = room ? 0 : stalled + 1;
          if (stalled > TAIL_STALLED_BEATS_MAX || !isStillPermitted(call, headers)) stop();
          else if (room) send(": still here\n\n");
        }, TAIL_HEARTBEAT_MS);
        end = () => {
          leave();
          clearInterval(heartbeat);
          unsubscribe();
          closing.removeEventListener("abort", stop);
        };
        const stop = () => {
          end();
          controller.close();
        };
        closing.addEventListener("abort", stop);
        send(": connected\n\n");
      },
      cancel: () => end(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: TAIL_PENDING_BYTES_MAX }),
  );
}

function isStillPermitted(
  { deps }: RequestContext<string, unknown, unknown>,
  headers: Headers,
): boolean {
  try {
    permit(authenticate(deps.catalog, headers), ["events:read"]);
    return true;
  } catch {
    return false;
  }
}

function matches(message: TailMessage, { sourceId, destinationId }: TailFilter): boolean {
  if (sourceId !== undefined && message.sourceId !== sourceId) return false;
  return destinationId === undefined || message.destinationId === destinationId;
}

function serverSentEvent(message: TailMessage): string {
  const data = JSON.stringify({ ...message, at: isoTime(message.at) });
  return `event: ${message.stage}\ndata: ${data}\n\n`;
}
