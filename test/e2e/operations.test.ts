import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { environmentName, loadConfig } from "../../src/settings/reader.ts";
import { configSchema } from "../../src/settings/schema.ts";
import { missingPrograms, testWith } from "../counterpart.ts";
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

/** The files of the README's page for operators, as far as a test machine can use them. */
const readme = await Bun.file("README.md").text();
const page = readme.slice(readme.indexOf("\n# Operations\n"), readme.indexOf("\n# Development\n"));
const block = (language: string) =>
  page.match(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "s"))![1]!;
const settings = new Map(
  Object.entries(configSchema.properties).map(([key, schema]) => [environmentName(key), schema]),
);

let server: Server;
const directory = temporaryDirectory();
beforeAll(async () => {
  server = await startServer();
}, 300_000);
afterAll(async () => {
  await server.stop();
  removeDirectory(server.directory);
  removeDirectory(directory);
});

describe("the systemd unit", () => {
  const unit = block("ini");

  testWith(missingPrograms("systemd-analyze"))("is one that systemd understands", async () => {
    const path = join(directory, "pixelmill.service");
    await Bun.write(path, unit.replace("/usr/local/bin/pixelmill", process.execPath));
    const { exitCode, stderr } = Bun.spawnSync(["systemd-analyze", "verify", path]);
    const about = stderr
      .toString()
      .split("\n")
      .filter((line) => line.includes("pixelmill"));
    expect({ exitCode, about }).toEqual({ exitCode: 0, about: [] });
  });

  test("starts the server with flags that there are, and gives a stop its time", () => {
    const [, words] = unit.match(/^ExecStart=\S+ serve (.+)$/m)!;
    const [flag, value] = words!.split(" ");
    expect(flag).toBe("--data");
    expect(loadConfig({ data: value }, {}).data).toBe("/var/lib/pixelmill");
    expect(Number(unit.match(/^TimeoutStopSec=(\d+)$/m)![1])).toBeGreaterThan(10);
  });
});

test("the image's settings and ports are those of the server", () => {
  const dockerfile = block("dockerfile");
  const [, environment] = dockerfile.match(/^ENV (.+)$/m)!;
  for (const pair of environment!.split(" ")) expect(settings.has(pair.split("=")[0]!)).toBe(true);
  expect(dockerfile).toContain("EXPOSE 8080 8081\n");
});

describe("the Kubernetes manifest", () => {
  const manifest = Bun.YAML.parse(block("yaml")) as any;
  const pod = manifest.spec.template.spec;
  const [container] = pod.containers;

  test("names settings and ports that there are, and one volume for its one replica", () => {
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

  test("asks for what the server answers", async () => {
    const bases: Record<string, string> = { pixels: server.dataPlane, admin: server.controlPlane };
    for (const probe of [container.livenessProbe, container.readinessProbe]) {
      const { path, port } = probe.httpGet;
      // As kubelet asks: by the pod's address.
      expect((await fetch(bases[port]! + path)).status).toBe(200);
    }
  });
});

testWith(missingPrograms("nginx"))(
  "the nginx for the control plane passes its API",
  async () => {
    const nginx = await startNginx((port) =>
      `access_log off; ${block("nginx")}`
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

test("every metric to watch is one of the server", async () => {
  const sink = startSink();
  await route(server, { url: sink.url });
  // Those of a cluster are looked for at its nodes.
  const named = [...page.matchAll(/`(pixelmill_(?!cluster_)\w+)`/g)].map(([, name]) => name!);
  expect(named.length).toBeGreaterThan(5);
  const metrics = await (await fetch(`${server.controlPlane}/metrics`)).text();
  for (const name of named) expect(metrics).toContain(`# TYPE ${name} `);
  sink.stop();
});
