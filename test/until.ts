/** Less than the timeout of a test, so that a failure names what it waited for. */
const PATIENCE_MS = 240_000;
/** Pauses grow from one to the other: a short wait ends soon, and a long one costs little. */
const [PAUSE_MS_MIN, PAUSE_MS_MAX] = [1, 100];

/** The pause that follows one of `pauseMs`: about half of the time waited so far. */
const longer = (pauseMs: number) => Math.min(PAUSE_MS_MAX, pauseMs * 1.5);

/**
 * Waits until `probe` returns a value other than undefined, null and false, and resolves with it;
 * throws after `patienceMs`, with the text of what it waited for.
 */
export async function until<T>(
  probe: () => T | Promise<T>,
  expected = probe.toString(),
  patienceMs = PATIENCE_MS,
): Promise<Exclude<T, false | null | undefined>> {
  const end = performance.now() + patienceMs;
  for (let pauseMs = PAUSE_MS_MIN; ; pauseMs = longer(pauseMs)) {
    const value = await probe();
    if (value !== undefined && value !== null && value !== false) {
      return value as Exclude<T, false | null | undefined>;
    }
    if (performance.now() > end) throw new Error(`Waited in vain for ${expected}`);
    await Bun.sleep(pauseMs);
  }
}

/** A page or a server that has not reached a state after this long does not reach it. */
export const PAGE_PATIENCE_MS = 90_000;

/**
 * Repeats `assertion` until it holds; throws its last failure after 90 s. For what a page or
 * another process shows, which may be read in the middle of a change.
 */
export async function soon(assertion: () => Promise<void>): Promise<void> {
  const end = performance.now() + PAGE_PATIENCE_MS;
  for (let pauseMs = PAUSE_MS_MIN; ; pauseMs = longer(pauseMs)) {
    try {
      return await assertion();
    } catch (error) {
      if (performance.now() > end) throw error;
    }
    await Bun.sleep(pauseMs);
  }
}

/** Number of times that `holds` looks, besides the first. */
const LOOKS = 10;

/**
 * Checks at once and again for `ms` that `assertion` holds: for what is not to happen. A state that
 * is still to come fails at the first look; `until` waits for it.
 */
export async function holds(ms: number, assertion: () => unknown): Promise<void> {
  await assertion();
  for (let look = 0; look < LOOKS; look += 1) {
    await Bun.sleep(ms / LOOKS);
    await assertion();
  }
}
