import { afterAll, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { send, WRITE_KEY } from "../harness.ts";
import { basic, openSdkListener, track } from "./_sdk.ts";

const server = openSdkListener();
afterAll(() => server.stop());

const good = JSON.stringify({ batch: [track("1")] });
const deep = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
const AUTH = `Authorization: ${basic(WRITE_KEY)}\r\n`;
const CLOSE = "Connection: close\r\n";
const sized = (body: Buffer | string, headers = "") => {
  const length = `Content-Length: ${Buffer.byteLength(body, "latin1")}\r\n`;
  const head = `POST /v1/batch HTTP/1.1\r\nHost: a\r\n${AUTH}${headers}${length}\r\n`;
  return head + body.toString("latin1");
};

/**
 * Sends requests, the last of which closes the connection. Returns the statuses of the responses.
 */
async function ask(...requests: string[]): Promise<number[]> {
  const { text } = await send(server.port, requests.join(""));
  return [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
}

test("hostile bodies keep no more memory than good bodies of the same size", async () => {
  const ok = sized(`{"batch":[{"userId":1,"type":"page"}],"x":"${"x".repeat(1 << 18)}"}`);
  const bad = [
    sized(gzipSync(Buffer.alloc(64 << 20)), "Content-Encoding: gzip\r\n"),
    sized(gzipSync(Buffer.alloc(4 << 20)).subarray(0, -9), "Content-Encoding: gzip\r\n"),
    sized(deep(1 << 17)),
    sized(`{"batch":[${"0,".repeat(10_000)}0]}`),
    sized(`{"batch":[{"userId":${"9".repeat(1 << 18)}}]}`),
  ];
  /** Returns the MiB by which the process grows while the requests are sent 20 times. */
  async function growth(requests: string[], expected: number[]): Promise<number> {
    const before = process.memoryUsage().rss;
    for (let round = 0; round < 20; round++) {
      expect(await ask(...requests, sized(good, CLOSE))).toEqual([...expected, 200]);
      server.records.length = 0;
    }
    Bun.gc(true);
    return (process.memoryUsage().rss - before) / 2 ** 20;
  }
  const sendBad = () => growth(bad, [413, 400, 400, 200, 200]);
  const sendGood = () =>
    growth(
      bad.map(() => ok),
      bad.map(() => 200),
    );
  await sendGood();
  await sendBad();
  const grown = { good: await sendGood(), bad: await sendBad() };
  // 20 bombs that were kept would be 100 MiB at the limit of a body, and 1,280 MiB without it.
  expect(grown.bad).toBeLessThan(Math.max(0, grown.good) + 80);
}, 300_000);
