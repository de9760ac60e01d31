import { expect } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { testWith } from "../counterpart.ts";
import { removeDirectory, startServer, temporaryDirectory, waitFor } from "../e2e/server.ts";
import { fillDisk, makeSpace, mountDisk, mountMissing, unmountDisk } from "../small-disk.ts";
import { startReceiver } from "./_scene.ts";

const DISK_BYTES = 200 << 20;

testWith(mountMissing)(
  "alerts of a full disk reach a webhook when they begin and when they end",
  async () => {
    const directory = temporaryDirectory();
    const disk = join(directory, "disk");
    mkdirSync(disk);
    mountDisk(disk, DISK_BYTES);
    const receiver = startReceiver();
    const server = await startServer({ directory: disk });
    try {
      const call = async (method: string, path: string, body?: unknown) => {
        const answer = await server.api(method, path, body);
        if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
        return answer.body;
      };
      const { source } = await call("POST", "/v2/sources", { name: "Shop" });
      await call("POST", "/v2/alerts/receivers", {
        name: "On call",
        type: "webhook",
        url: receiver.url,
      });
      const { rules } = await call("GET", "/v2/alerts/rules");
      for (const { id, kind } of rules) {
        if (kind !== "disk" && kind !== "server-not-ready") continue;
        await call("PUT", `/v2/alerts/rules/${id}`, { forSeconds: 0, clearSeconds: 0 });
      }
      const pixel = `${server.dataPlane}/pixel/v1/track?writeKey=${source.writeKey}&event=E&anonymousId=a`;
      const isRefused = async () => (await fetch(pixel)).status === 503;
      fillDisk(disk);
      // An ingest process writes into blocks that its log already has.
      await waitFor(isRefused, "a full disk");
      // Whoever mends it can make changes meanwhile, which use up the free pages of the catalog.
      for (let n = 0; n < 60; n++) await call("POST", "/v2/sources", { name: `Source ${n}` });
      const told = (type: string, kind: string) =>
        receiver.got.find(({ body }) => body.type === type && body.alert.kind === kind)?.body;
      for (const kind of ["disk", "server-not-ready"]) {
        await waitFor(() => told("alert.began", kind), `the beginning of ${kind}`);
      }
      expect(told("alert.began", "server-not-ready").text).toContain("is full");
      expect(await isRefused()).toBe(true);
      makeSpace(disk);
      for (const kind of ["disk", "server-not-ready"]) {
        await waitFor(() => told("alert.ended", kind), `the end of ${kind}`);
      }
      expect(await isRefused()).toBe(false);
      const keys = receiver.got.map(({ headers }) => headers.get("idempotency-key"));
      expect(new Set(keys).size).toBe(keys.length);
    } finally {
      await server.stop();
      receiver.stop();
      unmountDisk(disk);
      removeDirectory(directory);
    }
  },
  600_000,
);
