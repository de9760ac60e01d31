import type { HttpExchange } from "../../http/exchange.ts";
import { SDK_BODY_BYTES_MAX } from "../../settings/limits.ts";
import { inflate } from "./inflate.ts";

/** Reason why a request's body is refused: the response's status and sentence. */
export interface ContentProblem {
  status: 400 | 413 | 415;
  problem: string;
}

/**
 * Returns the body of an SDK request, decompressed, or the reason why it is refused. Decompression
 * stops at `SDK_BODY_BYTES_MAX` bytes, so that a small request cannot cost more memory or time than
 * that. The bytes are valid until the next JSON text is scanned.
 */
export function bodyContent(
  exchange: Pick<HttpExchange, "header" | "body">,
): Buffer | ContentProblem {
  const coding = exchange.header("content-encoding")?.toLowerCase() ?? "";
  if (coding === "" || coding === "identity") return exchange.body();
  if (coding !== "gzip" && coding !== "x-gzip") {
    return { status: 415, problem: "Expected the Content-Encoding gzip or none" };
  }
  const content = inflate(exchange.body(), SDK_BODY_BYTES_MAX);
  if (content === "large") return tooLarge;
  return content === "damaged" ? noGzip : content;
}

const tooLarge: ContentProblem = {
  status: 413,
  problem: `Expected a body of at most ${SDK_BODY_BYTES_MAX} bytes after decompression`,
};
const noGzip: ContentProblem = {
  status: 400,
  problem: "Expected a body that is complete gzip data",
};
