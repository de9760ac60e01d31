/** A broken invariant: a fault of pixelmill itself, never of its input. */
export class InvariantError extends Error {
  override readonly name = "InvariantError";
}

/**
 * Checks what must hold whatever the input, also in production. Throws `InvariantError`, which stops
 * the lane, the request or the process that meets it instead of letting it go on with wrong state.
 *
 * @example assert(cursor <= durableEnd, "Cursor is behind the durable end of the log");
 *
 * @param invariant what holds, in one sentence without a period at the end
 */
export function assert(holds: boolean, invariant: string): asserts holds {
  if (!holds) throw new InvariantError(`Broken invariant: ${invariant}`);
}
