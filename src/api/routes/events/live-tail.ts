import { Type } from "@sinclair/typebox";
import type { Permit } from "../../../concurrency/permit.ts";
import type { TailMessage } from "../../../pipeline/live-tail.ts";
import { TAIL_PENDING_BYTES_MAX } from "../../../settings/limits.ts";
import { text } from "../../../settings/schema-types.ts";
import { authenticate, permit } from "../../request/authenticate.ts";
import { responseHeaders } from "../../response/errors.ts";
import { EVENT_STREAM, type RequestContext, route } from "../../route.ts";
import { Id } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { encodeTailMessage } from "../../tail-frames.ts";

/**
 * Milliseconds between two heartbeats of a live tail (a stream of new events). At each heartbeat,
 * the server authenticates the client again.
 */
const TAIL_HEARTBEAT_MS = 1_000;
/**
 * Number of successive heartbeats for which a client's buffer may be full. At the next heartbeat
 * with a full buffer, the server ends the live tail, because the client does not read.
 */
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

export const tailRoutes = [
  route("GET /v2/events", {
    summary: "Follow events on their way, as server-sent events",
    needs: ["events:read"],
    query: TailFilter,
    answer: text(
      "One event per message, named by its stage: received, delivered, dropped, dead-letter; " +
        "`missed` tells how many the reader did not get, because it is slow or its workspace is sent " +
        "too many bytes a second",
    ),
    media: EVENT_STREAM,
    example: { answer: encodeTailMessage(exampleMessage).toString() },
    handle(call) {
      const permit = call.deps.limiters.liveTails.acquire(call.workspaceId);
      return new Response(tailStream(call, permit), {
        // The connection closes after the tail, because it no longer has an idle timeout.
        headers: { ...responseHeaders, "Content-Type": EVENT_STREAM, Connection: "close" },
      });
    },
  }),
] as const;

type TailContext = RequestContext<string, TailFilter, unknown>;

/**
 * Creates the stream of a live tail (a workspace's new events). Skips messages while the client
 * reads too slowly or the workspace's byte rate is reached, and sends their number before the next
 * message. Ends and releases `permit` when the client stops reading, the token becomes invalid, or
 * the listener stops.
 */
function tailStream(context: TailContext, permit: Permit): ReadableStream {
  const { deps, workspaceId, query, closing } = context;
  const headers = new Headers(context.request.headers);
  const resources = new DisposableStack();
  resources.use(permit);
  let missed = 0;
  let stalledBeats = 0;

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const hasRoom = () => Number(controller.desiredSize) > 0;
        const send = (text: string) => controller.enqueue(Buffer.from(text));
        const end = () => {
          resources.dispose();
          controller.close();
        };
        const unsubscribe = deps.pipeline.liveTail.subscribe(workspaceId, (message) => {
          if (!matches(message, query)) return;
          const frame = hasRoom() ? deps.tailFrames.frameOf(workspaceId, message) : undefined;
          if (frame === undefined) {
            missed++;
            return;
          }
          if (missed > 0) send(`event: missed\ndata: {"count":${missed}}\n\n`);
          missed = 0;
          controller.enqueue(frame);
        });
        resources.defer(unsubscribe);
        const heartbeat = setInterval(() => {
          stalledBeats = hasRoom() ? 0 : stalledBeats + 1;
          if (stalledBeats > TAIL_STALLED_BEATS_MAX || !isStillPermitted(context, headers)) end();
          else if (hasRoom()) send(": still here\n\n");
        }, TAIL_HEARTBEAT_MS);
        resources.defer(() => clearInterval(heartbeat));
        closing.addEventListener("abort", end);
        resources.defer(() => closing.removeEventListener("abort", end));
        send(": connected\n\n");
      },
      cancel: () => resources.dispose(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: TAIL_PENDING_BYTES_MAX }),
  );
}

function isStillPermitted({ deps }: TailContext, headers: Headers): boolean {
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
