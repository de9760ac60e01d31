export interface SentPixels {
  count: number;
  /** Pixels per second; 0 sends them as fast as they are answered. */
  rate: number;
  users: number;
  /** Write keys for `@K` in the URL; each gets `burst` pixels in turn. */
  writeKeys?: readonly string[];
  burst?: number;
}

const CONNECTIONS = 64;

/**
 * Sends pixels to a URL in a process of their own (`pixels.ts`), over 64 connections. Rejects
 * unless each is answered with 200.
 */
export async function sendPixels(
  url: string,
  { count, rate, users, writeKeys = [], burst = 1 }: SentPixels,
): Promise<void> {
  const argv = [url, count, rate, CONNECTIONS, users, writeKeys.join(" "), burst].map(String);
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/pixels.ts`, ...argv], {
    stdout: "pipe",
  });
  const { answered } = JSON.parse(await new Response(child.stdout).text());
  if (answered !== count) throw new Error(`Only ${answered} of ${count} pixels were taken`);
}
