/**
 * Measures durable pixel ingest with TLS by pixelmill itself, beside nginx with TLS in front of
 * pixelmill and nginx with TLS alone, which stores nothing. Each request is sent over a kept
 * connection, or over a new one. CPU is that of all processes of a target.
 *
 *   bun bench/tls.ts [--seconds 5] [--rounds 3] [--connections 64] [--command dist/pixelmill]
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startNginx } from "../test/e2e/nginx.ts";
import { childrenOf, removeDirectory } from "../test/e2e/server.ts";
import { type Load, measure, median, type Target } from "./load.ts";
import { report, round2 } from "./report.ts";
import { pixelmill } from "./targets.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    connections: { type: "string", default: "64" },
    command: { type: "string", default: "dist/pixelmill" },
  },
});
const { command } = values;
const directory = mkdtempSync(join(tmpdir(), "pixelmill-bench-tls-"));
const [certificate, key] = [join(directory, "tls.crt"), join(directory, "tls.key")];
const made = Bun.spawnSync(
  `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=bench
   -keyout ${key} -out ${certificate}`.split(/\s+/),
);
if (made.exitCode !== 0) throw new Error(`Cannot make a certificate: ${made.stderr}`);

const tlsOfNginx = (port: number) =>
  `listen 127.0.0.1:${port} ssl; ssl_certificate ${certificate}; ssl_certificate_key ${key};
   ssl_protocols TLSv1.2 TLSv1.3;`;

async function nginxWithTls(): Promise<Target> {
  const nginx = await startNginx(
    (port) =>
      `access_log access.log combined buffer=256k flush=1s; keepalive_requests 100000000;
       server { ${tlsOfNginx(port)} location / { empty_gif; } }`,
  );
  return {
    name: "nginx empty_gif with TLS, buffered log",
    url: nginx.url.replace("http:", "https:") + pathOf(plain),
    pids: childrenOf(nginx.pid, "nginx: worker process"),
    stop: nginx.stop,
  };
}

async function behindNginx(server: Target): Promise<Target> {
  const upstream = new URL(server.url).host;
  const nginx = await startNginx(
    (port) =>
      `access_log off; keepalive_requests 100000000;
       upstream pixelmill { server ${upstream}; keepalive 64; keepalive_timeout 8s; }
       server { ${tlsOfNginx(port)} large_client_header_buffers 4 40k;
         location / { proxy_pass http://pixelmill; proxy_http_version 1.1;
           proxy_set_header Connection "";
           proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; } }`,
  );
  return {
    name: "pixelmill behind nginx with TLS",
    url: nginx.url.replace("http:", "https:") + pathOf(server),
    pids: [...server.pids, ...childrenOf(nginx.pid, "nginx: worker process")],
    stop: nginx.stop,
  };
}

const pathOf = ({ url }: Target) => new URL(url).pathname + new URL(url).search;

const withTls = await pixelmill({
  command,
  flags: ["--tls-certificate", certificate, "--tls-key", key],
});
const plain = await pixelmill({ command, flags: ["--trusted-proxies", "127.0.0.1/32"] });
const targets: Target[] = [
  { ...withTls, name: "pixelmill with TLS" },
  { ...plain, name: "pixelmill without TLS" },
];
if (Bun.which("nginx") !== null) targets.push(await behindNginx(plain), await nginxWithTls());

const rows: Record<string, string | number>[] = [];
for (const isReconnecting of [false, true]) {
  const loads = new Map<Target, Load[]>(targets.map((target) => [target, []]));
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const target of targets) {
      const connections = Number(values.connections);
      const options = { connections, seconds: Number(values.seconds), isReconnecting };
      loads.get(target)!.push(await measure(target, options));
    }
  }
  const of = (target: Target, figure: keyof Load) =>
    median(loads.get(target)!.map((load) => load[figure]));
  for (const target of targets) {
    const perCpuSecond = of(target, "perCpuSecond");
    rows.push({
      connections: isReconnecting ? "one each" : "kept",
      target: target.name,
      "CPU µs per pixel": Math.round(1e6 / perCpuSecond),
      "responses per CPU-second": Math.round(perCpuSecond),
      "pixelmill with TLS / target": round2(of(targets[0]!, "perCpuSecond") / perCpuSecond),
      "responses per second": Math.round(of(target, "rps")),
      "p99 ms": of(target, "p99Ms"),
      failures: loads.get(target)!.reduce((sum, load) => sum + load.failures, 0),
    });
  }
}
for (const target of targets.reverse()) await target.stop();
removeDirectory(directory);
await report("tls", rows);
