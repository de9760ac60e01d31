import { InvariantError } from "../../assert.ts";
import { ConcurrencyLimiter } from "../../concurrency/concurrency-limiter.ts";
import type { Logger } from "../../observe/log.ts";
import { SandboxUnavailable } from "../../sandbox/sandbox.ts";
import { TRANSFORMER_BYTES_MAX, TRANSFORMER_BYTES_OF_WORKSPACE_MAX } from "../limits.ts";
import type { Handler } from "../requests.ts";
import { againResponse, jsonResponse, textResponse } from "../responses.ts";
import { answerOf } from "./answer.ts";
import { itemsIn } from "./request-items.ts";
import { type ItemRunOptions, runItems } from "./run-items.ts";

/**
 * Minimum number of bytes that a request counts towards `TRANSFORMER_BYTES_MAX`, even if its body
 * is smaller, because a request takes memory in addition to its body.
 */
const REQUEST_BYTES_MIN = 65_536;

export interface CustomTransformOptions extends ItemRunOptions {
  logger: Logger;
}

/**
 * Creates the handler of `POST /customTransform`, which runs each item of a request through the
 * code that the item names. If this server cannot run the code at present, the answer makes
 * rudder-server send the request again.
 */
export function createCustomTransform(options: CustomTransformOptions): Handler {
  const requests = new ConcurrencyLimiter({
    perOwner: TRANSFORMER_BYTES_OF_WORKSPACE_MAX,
    total: TRANSFORMER_BYTES_MAX,
  });

  return async (exchange, isAwaited) => {
    const coding = exchange.header("content-encoding")?.toLowerCase() ?? "identity";
    if (coding !== "identity") return textResponse(415, "Expected a body without encoding");
    // rudder-server turns the feature on with `?1`.
    const namesDropped = ["?1", "true"].includes(exchange.header("x-feature-filter-code") ?? "");
    const body = exchange.body();
    const items = itemsIn(body);
    if ("problem" in items) return textResponse(items.status, items.problem);
    using permit = requests.tryAcquire(
      items[0]?.group.workspaceId ?? "",
      Math.max(REQUEST_BYTES_MIN, body.length),
    );
    if (permit === undefined)
      return againResponse("busy", "Too many requests are being transformed");
    try {
      const results = await runItems(options, body, items, isAwaited);
      if (!isAwaited()) return againResponse("failed", "The client has closed the connection");
      return jsonResponse(200, answerOf(body, items, results, namesDropped));
    } catch (error) {
      if (error instanceof InvariantError) throw error;
      const level = error instanceof SandboxUnavailable ? "warn" : "error";
      options.logger[level]({ err: error }, "request of rudder-server waits for user code");
      return againResponse("user_code_unavailable", "User code does not run at the moment");
    }
  };
}
