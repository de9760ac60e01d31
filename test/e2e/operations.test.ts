import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { environmentName } from "../../src/settings/keys.ts";
import { loadConfig } from "../../src/settings/reader.ts";
import { configSchema } from "../../src/settings/schema.ts";
import { type Plane, planes } from "../../src/take-over/messages.ts";
import { missingPrograms, testWith } from "../counterpart.ts";
import { block, blocks } from "../docs/markdown.ts";
import { startNginx } from "./nginx.ts";
import {
  ADMIN_TOKEN,
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  temporaryDirectory,
} from "./server.ts";

/** Tests the files in docs/operating.md, as far as a test machine can use them. */
const page = await Bun.file("docs/operating.md").text();
const settings = new Map(
  Object.entries(configSchema.properties).map(([key, schema]) => [environmentName(key), schema]),
);

let server: Server;
const directory = temporaryDirectory();
beforeAll(async () => {
  // With the parts that only a setting opens, since they have metrics of their own.
  server = await startServer({
    flags: [
      ...["--transformer-port", "0", "--backup-every", "86400"],
      ...["--backup-directory", join(directory, "backups")],
    ],
  });
}, 300_000);
afterAll(async () => {
  await server.stop();
  removeDirectory(server.directory);
  removeDirectory(directory);
});

describe("systemd units", () => {
  const paths = [...page.matchAll(/`\/etc\/systemd\/system\/([\w.-]+)`/g)].map(([, name]) => name!);
  const units = blocks(page, "ini");
  const unit = units[paths.indexOf("pixelmill.service")]!;

  testWith(missingPrograms("systemd-analyze"))("are some that systemd understands", async () => {
    const files = paths.map((name) => join(directory, name));
    for (const [at, path] of files.entries()) {
      await Bun.write(path, units[at]!.replace("/usr/local/bin/pixelmill", process.execPath));
    }
    const { exitCode, stderr } = Bun.spawnSync(["systemd-analyze", "verify", ...files]);
    const about = stderr
      .toString()
      .split("\n")
      .filter((line) => line.includes("pixelmill"));
    expect({ exitCode, about }).toEqual({ exitCode: 0, about: [] });
  });

  test("open sockets with the names that the server knows, for the service", () => {
    const sockets = paths.flatMap((name, at) => (name.endsWith(".socket") ? units[at]! : []));
    const names = sockets.map((text) => text.match(/^FileDescriptorName=(.+)$/m)![1]!);
    expect(names).toEqual(["data-plane", "control-plane"]);
    for (const name of names) expect(planes).toContain(name as Plane);
    for (const text of sockets) expect(text).toContain("Service=pixelmill.service\n");
    const used = unit.match(/^Sockets=(.+)$/m)![1]!.split(" ");
    expect(used).toEqual(paths.filter((name) => name.endsWith(".socket")));
  });

  test("starts the server with existing flags, and allows time for its stop", () => {
    const [, words] = unit.match(/^ExecStart=\S+ serve (.+)$/m)!;
    const [flag, value] = words!.split(" ");
    expect(flag).toBe("--data");
    expect(loadConfig({ data: value }, {}).data).toBe("/var/lib/pixelmill");
    expect(Number(unit.match(/^TimeoutStopSec=(\d+)$/m)![1])).toBeGreaterThan(10);
  });
});

describe("Kubernetes manifest", () => {
  const manifest = Bun.YAML.parse(block(page, "yaml")) as any;
  const pod = manifest.spec.template.spec;
  const [container] = pod.containers;

  test("has existing settings and ports, and one volume for its one replica", () => {
    for (const { name } of container.env) expect(settings.has(name)).toBe(true);
    const defaults = [settings.get("PIXELMILL_PORT"), settings.get("PIXELMILL_ADMIN_PORT")];
    const ports = container.ports.map(({ containerPort }: any) => containerPort);
    expect(ports).toEqual(defaults.map((schema) => schema!.default));
    expect(manifest.spec.replicas).toBe(1);
    const [mount] = container.volumeMounts;
    const data = container.env.find(({ name }: any) => name === "PIXELMILL_DATA").value;
    expect(data).toStartWith(`${mount.mountPath}/`);
    expect(manifest.spec.volumeClaimTemplates[0].metadata.name).toBe(mount.name);
    expect(manifest.spec.selector.matchLabels).toEqual(manifest.spec.template.metadata.labels);
  });

  test("probes paths that the server answers", async () => {
    const bases: Record<string, string> = { pixels: server.dataPlane, admin: server.controlPlane };
    for (const probe of [container.livenessProbe, container.readinessProbe]) {
      const { path, port } = probe.httpGet;
      // Kubelet also probes by the pod's address.
      expect((await fetch(bases[port]! + path)).status).toBe(200);
    }
  });
});

testWith(missingPrograms("nginx"))(
  "the nginx for the control plane passes its API",
  async () => {
    const nginx = await startNginx((port) =>
      `access_log off; ${block(page, "nginx")}`
        .replace("127.0.0.1:8081", new URL(server.controlPlane).host)
        .replace("listen 443 ssl;", `listen 127.0.0.1:${port};`)
        .replace(/ssl_certificate\w*.*;/g, ""),
    );
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" };
    const code = `export const transformEvent = (event) => event; // ${"x".repeat(1_000_000)}`;
    const body = JSON.stringify({ name: "Long", language: "javascript", code });
    const made = await fetch(`${nginx.url}/transformations?publish=true`, {
      method: "POST",
      headers,
      body,
    });
    expect(made.status).toBe(200);
    const tail = await fetch(`${nginx.url}/v2/events`, { headers });
    expect(tail.status).toBe(200);
    const { value } = await tail.body!.getReader().read();
    expect(value!.length).toBeGreaterThan(0);
    await nginx.stop();
  },
  300_000,
);

test("every metric in docs/operating.md is in the reference, and the server has all of its metrics", async () => {
  const sink = startSink();
  await route(server, { url: sink.url });
  const table = await Bun.file("docs/reference/metrics.md").text();
  const rows = table.matchAll(/^\| `(\w+)` \| (\w+) \| [^|]* \| (.*) \|$/gm);
  const reference = Array.from(rows, ([, name = "", type, help]) => ({ name, type, help }));
  const watched = [...page.matchAll(/`(pixelmill_\w+)`/g)].map(([, name]) => name!);
  expect(watched.length).toBeGreaterThan(5);
  const known = reference.map(({ name }) => name);
  expect(watched.filter((name) => !known.includes(name))).toEqual([]);

  // test/cluster/nodes.test.ts checks the metrics of a cluster node.
  const ofServer = reference.filter(({ name }) => !name.startsWith("pixelmill_cluster_"));
  const metrics = await (await fetch(`${server.controlPlane}/metrics`)).text();
  const shown = [...metrics.matchAll(/^# HELP (pixelmill_\w+) (.*)\n# TYPE \1 (\w+)$/gm)].map(
    ([, name = "", help, type]) => ({ name, help, type }),
  );
  const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
  expect(shown.sort(byName)).toEqual(ofServer);
  sink.stop();
});
