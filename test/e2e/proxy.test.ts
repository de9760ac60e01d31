import { afterAll, beforeAll, expect, test } from "bun:test";
import { missingPrograms, titled } from "../counterpart.ts";
import { block } from "../docs/markdown.ts";
import { startHaproxy } from "./haproxy.ts";
import { startNginx } from "./nginx.ts";
import { removeDirectory, route, type Server, startServer, startSink, waitFor } from "./server.ts";

/**
 * Tests the proxy configurations of docs/pixels.md; `.ci/run` installs the proxies where it can.
 */
const page = await Bun.file("docs/pixels.md").text();

const proxies = {
  nginx: (dataPlane: string) =>
    startNginx((port) =>
      `access_log off; ${block(page, "nginx")}`
        .replace("127.0.0.1:8080", dataPlane)
        .replace("listen 443 ssl;", `listen 127.0.0.1:${port};`)
        .replace(/ssl_certificate\w*.*;/g, ""),
    ),
  haproxy: (dataPlane: string) =>
    startHaproxy((port) =>
      block(page, "haproxy")
        .replace("127.0.0.1:8080", dataPlane)
        .replace(/bind :443 .*/, `bind 127.0.0.1:${port}`),
    ),
};

/** Requests a URL with curl from an address of the loopback network; returns the status. */
async function ask(url: string, from: string, ...options: string[]): Promise<number> {
  const child = Bun.spawn(
    ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--interface", from, ...options, url],
    { stdout: "pipe" },
  );
  return Number(await child.stdout.text());
}

let server: Server;
beforeAll(async () => {
  server = await startServer({ flags: ["--trusted-proxies", "127.0.0.1/32"] });
}, 300_000);
afterAll(async () => {
  await server.stop();
  removeDirectory(server.directory);
});

for (const [name, startProxy] of Object.entries(proxies)) {
  const missing = missingPrograms(name, "curl");
  test.concurrent.skipIf(missing !== undefined)(
    titled(
      `the ${name} of docs/pixels.md names the client, whatever that says of itself, and lets the longest URL through`,
      missing,
    ),
    async () => {
      const sink = startSink();
      const proxy = await startProxy(new URL(server.dataPlane).host);
      try {
        const { writeKey } = await route(server, { url: sink.url });
        const target = `/pixel/v1/track?writeKey=${writeKey}&anonymousId=a&event=e`;
        const longest = proxy.url + `${target}&x=`.padEnd(32_768, "x");
        expect(await ask(proxy.url + target, "127.0.0.2")).toBe(200);
        expect(await ask(longest, "127.0.0.3")).toBe(200);
        expect(await ask(`${longest}x`, "127.0.0.4")).toBe(414);
        const forged = ["-H", "X-Forwarded-For: 6.6.6.6, 127.0.0.1"];
        expect(await ask(proxy.url + target, "127.0.0.5", ...forged)).toBe(200);
        const chunked = ["-H", "Transfer-Encoding: chunked", "-H", "Content-Type: text/plain"];
        expect(await ask(proxy.url + target, "127.0.0.6", "-d", "a beacon", ...chunked)).toBe(200);
        await waitFor(() => sink.events.length === 4);
        expect(sink.events.map((event) => event.request_ip).sort()).toEqual([
          ...["127.0.0.2", "127.0.0.3", "127.0.0.5", "127.0.0.6"],
        ]);
        // Longer than a few health checks, which must not mark the server as down.
        await Bun.sleep(7_000);
        expect(await ask(`${proxy.url}/health`, "127.0.0.7")).toBe(200);
      } finally {
        await proxy.stop();
        sink.stop();
      }
    },
    300_000,
  );
}
