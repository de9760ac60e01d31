import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../free-ports.ts";
import { waitFor } from "./server.ts";

/** Starts HAProxy (Debian package) on a free port, with the configuration for that port. */
export async function startHaproxy(configuration: (port: number) => string): Promise<{
  url: string;
  stop(): Promise<void>;
}> {
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-haproxy-"));
  const port = await freePort();
  const file = join(directory, "haproxy.cfg");
  await Bun.write(file, configuration(port));
  const child = Bun.spawn(["haproxy", "-db", "-f", file], { stdout: "ignore", stderr: "ignore" });
  const url = `http://127.0.0.1:${port}`;
  await waitFor(() =>
    fetch(url)
      .then(() => true)
      .catch(() => undefined),
  );
  return {
    url,
    async stop() {
      child.kill();
      await child.exited;
      rmSync(directory, { recursive: true });
    },
  };
}
