/**
 * Milliseconds without a byte after which a live tail counts as lost. The server sends a heartbeat
 * each second.
 */
const QUIET_MS_MAX = 15_000;

/**
 * Returns the response with a body that fails when no byte arrives for `quietMsMax` milliseconds.
 * It detects a server that ended without closing the connection, for example because of a power
 * loss.
 */
export function quietStreamEnds(response: Response, quietMsMax = QUIET_MS_MAX): Response {
  const { body } = response;
  if (!response.ok || body === null) return response;
  const reader = body.getReader();
  const guarded = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { promise, reject } = Promise.withResolvers<never>();
      const message = `nothing came for ${quietMsMax / 1_000} s`;
      const timer = setTimeout(() => reject(new Error(message)), quietMsMax);
      try {
        const { done, value } = await Promise.race([reader.read(), promise]);
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        await reader.cancel().catch(() => {});
        throw error;
      } finally {
        clearTimeout(timer);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(guarded, { status: response.status, headers: response.headers });
}
