import { expect, test } from "bun:test";
import { startNginx } from "./nginx.ts";
import { removeDirectory, route, startServer, startSink, waitFor } from "./server.ts";

/** Answers `STATUS` of a GET that curl sends from an address of the loopback network. */
async function get(url: string, from: string): Promise<number> {
  const child = Bun.spawn(
    ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--interface", from, url],
    { stdout: "pipe" },
  );
  return Number(await child.stdout.text());
}

/** `.ci/run` installs nginx where it can. */
test.skipIf(Bun.which("nginx") === null)(
  "the README's nginx names the client and lets the longest URL through",
  async () => {
    const readme = await Bun.file("README.md").text();
    const config = readme.match(/```nginx\n(.*?)```/s)![1]!;
    const sink = startSink();
    const server = await startServer({ flags: ["--trusted-proxies", "127.0.0.1/32"] });
    const nginx = await startNginx((port) =>
      `access_log off; ${config}`
        .replace("127.0.0.1:8080", new URL(server.dataPlane).host)
        .replace("listen 443 ssl;", `listen 127.0.0.1:${port};`)
        .replace(/ssl_certificate\w*.*;/g, ""),
    );
    try {
      const { writeKey } = await route(server, { url: sink.url });
      const target = `/pixel/v1/track?writeKey=${writeKey}&anonymousId=a&event=e`;
      const longest = nginx.url + `${target}&x=`.padEnd(32_768, "x");
      expect(await get(nginx.url + target, "127.0.0.2")).toBe(200);
      expect(await get(longest, "127.0.0.3")).toBe(200);
      expect(await get(`${longest}x`, "127.0.0.4")).toBe(414);
      await waitFor(() => sink.events.length === 2);
      expect(sink.events.map((event) => event.request_ip).sort()).toEqual([
        "127.0.0.2",
        "127.0.0.3",
      ]);
    } finally {
      await nginx.stop();
      await server.stop();
      sink.stop();
      removeDirectory(server.directory);
    }
  },
);
