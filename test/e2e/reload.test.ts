import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { runPixelmill } from "./command.ts";
import {
  ADMIN_TOKEN,
  childrenOf,
  removeDirectory,
  type Server,
  startServer,
  temporaryDirectory,
  waitFor,
} from "./server.ts";

/** Settings that change while a server runs. */
const directory = temporaryDirectory();
const file = join(directory, "settings.toml");
let server: Server;

beforeAll(async () => {
  await Bun.write(file, "admin.rate = 1000\n");
  server = await startServer({ directory, flags: ["--config", file] });
}, 300_000);
afterAll(async () => {
  await server.stop();
  removeDirectory(directory);
});

async function pixelmill(...args: string[]) {
  return await pixelmillOn(join(directory, "data"), ...args);
}

async function pixelmillOn(data: string, ...args: string[]) {
  return await runPixelmill([...args, "--data", data], { cwd: directory });
}

async function inForce(): Promise<Record<string, unknown>> {
  const { output } = await pixelmill("config", "--running", "--json");
  const settings = JSON.parse(output) as { key: string; value?: unknown }[];
  return Object.fromEntries(settings.map(({ key, value }) => [key, value]));
}

const addSource = (name: string) =>
  server.api("POST", "/v2/sources", { name, type: "pixel" }).then(({ status }) => status);

test("a reload puts new values in force, and names those that take a restart", async () => {
  expect(await addSource("first")).toBe(201);
  await Bun.write(
    file,
    'workspace.sources = 1\nadmin.rate = 1000\nlog.level = "debug"\ningest.rate = 1\noidc.name = "x"\n',
  );
  expect(await pixelmill("reload")).toEqual({
    code: 0,
    output:
      "reloaded: changed ingest.rate, workspace.sources, log.level\nthese take a restart: oidc.name\n",
    errors: "",
  });
  expect(await addSource("second")).toBe(409);
  expect(await inForce()).toMatchObject({
    "workspace.sources": 1,
    "log.level": "debug",
    "oidc.name": "single sign-on",
    "admin.token": "(set)",
  });
  const { body } = await server.api("GET", "/v2/sources");
  const url = `${server.dataPlane}/pixel/v1/page?writeKey=${body.sources[0].writeKey}&anonymousId=a`;
  const statuses = async () =>
    (await Promise.all([fetch(url), fetch(url), fetch(url), fetch(url)])).map((it) => it.status);
  await waitFor(async () => (await statuses()).includes(429) || undefined);
  // A process that replaces a dead one has the new value too.
  const [before] = childrenOf(server.pid, "ingest");
  process.kill(before!, "SIGKILL");
  await waitFor(() => childrenOf(server.pid, "ingest").some((pid) => pid !== before) || undefined);
  await waitFor(
    async () => (await statuses().catch((): number[] => [])).includes(429) || undefined,
  );
}, 300_000);

test("bad settings change nothing, and are reported to the caller and in the log", async () => {
  const before = await inForce();
  const refused = [
    ["workspace.sources = 7\nworkspace.members = -1\n", "Setting workspace.members in "],
    ['workspace.sources = 7\nsmtp.server = "a:1"\n', "Setting smtp.server needs smtp.from"],
    [
      'workspace.sources = 7\ngeolocation.database = "/none"\n',
      "Cannot read the geolocation database /none",
    ],
    ["workspace.sources =\n", "Cannot read the configuration file"],
  ] as const;
  for (const [content, reason] of refused) {
    await Bun.write(file, content);
    const { code, output, errors } = await pixelmill("reload");
    expect({ code, output }).toEqual({ code: 1, output: "" });
    expect(errors).toStartWith(`pixelmill: ${reason}`);
    expect(server.errors()).toContain(reason);
  }
  expect(await inForce()).toEqual(before);
}, 300_000);

test("SIGHUP reloads the settings, and the number of reloads is a metric", async () => {
  await Bun.write(file, "workspace.sources = 2\n");
  process.kill(server.pid, "SIGHUP");
  await waitFor(() => server.errors().includes('"by":"SIGHUP"') || undefined);
  expect(await addSource("second")).toBe(201);
  const metrics = await (await fetch(`${server.controlPlane}/metrics`)).text();
  const [, failed] = metrics.match(
    /^pixelmill_settings_reloads_total{result="failed",.*} (\d+)$/m,
  )!;
  expect(failed).toBe("4");
  expect(server.errors()).not.toContain(ADMIN_TOKEN);
}, 300_000);

test("without a running server, reload says so", async () => {
  const nowhere = join(directory, "nowhere");
  const { code, errors } = await pixelmillOn(nowhere, "reload");
  expect({ code, errors }).toEqual({
    code: 1,
    errors: `pixelmill: Expected a running server of ${nowhere}: none answers there\n`,
  });
}, 300_000);
