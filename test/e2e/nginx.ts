import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../free-ports.ts";
import { waitFor } from "./server.ts";

/** Starts nginx (Debian package) with one worker on a free port; `http` returns its http block. */
export async function startNginx(http: (port: number) => string): Promise<{
  url: string;
  pid: number;
  stop(): Promise<void>;
}> {
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-nginx-"));
  const port = await freePort();
  await Bun.write(
    join(directory, "nginx.conf"),
    // Workers store long bodies in the directory, which only the user who started nginx can write.
    `${process.getuid?.() === 0 ? "user root;" : ""} worker_processes 1; daemon off; pid nginx.pid; error_log error.log;
     events { worker_connections 4096; }
     http {
       client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
       uwsgi_temp_path uwsgi; scgi_temp_path scgi;
       ${http(port)}
     }`,
  );
  const child = Bun.spawn(["nginx", "-p", directory, "-c", join(directory, "nginx.conf")], {
    stdout: "ignore",
    stderr: "ignore",
  });
  const url = `http://127.0.0.1:${port}`;
  await waitFor(() =>
    fetch(url)
      .then(() => true)
      .catch(() => undefined),
  );
  return {
    url,
    pid: child.pid,
    async stop() {
      child.kill();
      await child.exited;
      rmSync(directory, { recursive: true });
    },
  };
}
