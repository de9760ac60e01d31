import { afterAll, beforeAll, expect } from "bun:test";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type Missing, missingPrograms, testWith } from "../counterpart.ts";
import { pixelmillCommand } from "../e2e/command.ts";
import {
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  temporaryDirectory,
  waitFor,
} from "../e2e/server.ts";
import { good } from "../egress/tls.ts";
import { freePort } from "../free-ports.ts";

/** The files that `pixelmill print` prints, given to the programs that they are for. */
let directory: string;
let server: Server;
let writeKey: string;
const sink = startSink();
beforeAll(async () => {
  directory = temporaryDirectory();
  writeFileSync(at("pixels.crt"), good.cert);
  writeFileSync(at("pixels.key"), good.key);
  writeFileSync(at("both.pem"), `${good.cert}\n${good.key}\n`);
  server = await startServer({ flags: ["--trusted-proxies", "127.0.0.1/32"] });
  ({ writeKey } = await route(server, { url: sink.url }));
}, 300_000);
afterAll(async () => {
  await server.stop();
  sink.stop();
  removeDirectory(server.directory);
  removeDirectory(directory);
});
const at = (name: string) => join(directory, name);

function run(...command: string[]) {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd: directory });
  return { exitCode, output: `${stdout}${stderr}` };
}

function print(topic: string): string {
  const { exitCode, output } = run(...pixelmillCommand, "print", topic);
  expect(exitCode).toBe(0);
  return output;
}

/** Replaces texts that must be there, such as the paths of files by those of this test. */
function replaced(text: string, changes: readonly [string, string][]): string {
  return changes.reduce((changed, [from, to]) => {
    expect(changed).toContain(from);
    return changed.replaceAll(from, to);
  }, text);
}

/** Sends a pixel over TLS through a proxy, which must name its client, until it is delivered. */
async function sendThrough(port: number, event: string) {
  const query = new URLSearchParams({ writeKey, userId: "u", event });
  const url = `https://127.0.0.1:${port}/pixel/v1/track?${query}`;
  const response = await waitFor(() =>
    fetch(url, { tls: { rejectUnauthorized: false } }).catch(() => undefined),
  );
  expect(response.status).toBe(200);
  const arrived = await waitFor(() => sink.events.find((it) => it.event === event));
  expect(arrived.request_ip).toBe("127.0.0.1");
}

testWith(missingPrograms("nginx"))(
  "nginx accepts what print nginx prints, and passes a pixel on over TLS",
  async () => {
    const port = await freePort();
    const printed = replaced(print("nginx"), [
      ["listen 443 ssl;", `listen 127.0.0.1:${port} ssl;`],
      ["/etc/ssl/pixels.example.com.pem", at("pixels.crt")],
      ["/etc/ssl/pixels.example.com.key", at("pixels.key")],
      ["127.0.0.1:8080", new URL(server.dataPlane).host],
    ]);
    const places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    const temporary = places.map((name) => `${name}_temp_path ${at(name)};`).join(" ");
    writeFileSync(
      at("nginx.conf"),
      `daemon off; pid ${at("nginx.pid")}; error_log ${at("error.log")}; events {}\n` +
        `http { access_log off; ${temporary}\n${printed}}\n`,
    );
    const command = ["nginx", "-p", directory, "-c", at("nginx.conf")];
    const tested = run(...command, "-t");
    expect(tested).toMatchObject({ exitCode: 0 });
    expect(tested.output).not.toContain("[warn]");
    const proxy = Bun.spawn(command, { stdout: "ignore", stderr: "ignore" });
    await sendThrough(port, "Through nginx");
    proxy.kill();
    await proxy.exited;
  },
  300_000,
);

testWith(missingPrograms("haproxy"))(
  "HAProxy accepts what print haproxy prints without a warning, and passes a pixel on over TLS",
  async () => {
    const port = await freePort();
    const printed = replaced(print("haproxy"), [
      ["bind :443 ssl", `bind 127.0.0.1:${port} ssl`],
      ["/etc/ssl/pixels.example.com.pem", at("both.pem")],
      ["127.0.0.1:8080", new URL(server.dataPlane).host],
    ]);
    writeFileSync(at("haproxy.cfg"), printed);
    const tested = run("haproxy", "-c", "-f", at("haproxy.cfg"));
    expect(tested).toMatchObject({ exitCode: 0 });
    expect(tested.output).not.toMatch(/WARNING|ALERT/);
    const command = ["haproxy", "-db", "-f", at("haproxy.cfg")];
    const proxy = Bun.spawn(command, { stdout: "ignore", stderr: "ignore" });
    await sendThrough(port, "Through HAProxy");
    proxy.kill();
    await proxy.exited;
  },
  300_000,
);

testWith(missingPrograms("systemd-analyze"))(
  "systemd accepts the units that print systemd prints",
  () => {
    const executable = "/usr/local/bin/pixelmill";
    const units = print("systemd").split(/^# (\/\S+)\n/m);
    const names: string[] = [];
    mkdirSync(at("units"));
    // systemd looks for the executable.
    writeFileSync(at("pixelmill"), "#!/bin/sh\n");
    chmodSync(at("pixelmill"), 0o755);
    for (let index = 1; index < units.length; index += 2) {
      const [path, text] = [units[index]!, units[index + 1]!];
      names.push(join(directory, "units", basename(path)));
      writeFileSync(names.at(-1)!, text.replace(executable, at("pixelmill")));
    }
    expect(names).toHaveLength(3);
    const checked = run("systemd-analyze", "verify", "--man=no", ...names);
    // Units of the machine itself may have faults.
    const faults = checked.output.split("\n").filter((line) => line.includes("pixelmill"));
    expect({ ...checked, faults }).toMatchObject({ exitCode: 0, faults: [] });
  },
  300_000,
);

const validator = join(import.meta.dir, "../../node_modules/.kubernetes-validate");
const validatorMissing: Missing = existsSync(join(validator, "kubernetes_validate"))
  ? missingPrograms("python3")
  : "kubernetes-validate not installed";

testWith(validatorMissing)(
  "the schemas of Kubernetes accept what print kubernetes prints",
  () => {
    writeFileSync(at("pixelmill.yaml"), print("kubernetes"));
    const command = ["python3", "-m", "kubernetes_validate", "--strict", at("pixelmill.yaml")];
    const { exitCode, stdout, stderr } = Bun.spawnSync(command, {
      env: { ...process.env, PYTHONPATH: validator },
    });
    expect({ exitCode, output: `${stdout}${stderr}` }).toEqual({
      exitCode: 0,
      output: expect.stringContaining("passed for resource statefulset/pixelmill"),
    });
  },
  300_000,
);
