import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pixelmillCommand, runPixelmill } from "./command.ts";
import {
  pixel,
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  temporaryDirectory,
  waitFor,
} from "./server.ts";

/** Default working directory of commands. */
const elsewhere = temporaryDirectory();
afterAll(() => removeDirectory(elsewhere));

const pixelmill = (args: string[], environment = {}, cwd = elsewhere) =>
  runPixelmill(args, { environment, cwd });

test("a data directory in another version's format stays unchanged", async () => {
  const cwd = temporaryDirectory();
  const data = join(cwd, "data");
  const token = ["token", "create", "--permissions", "events:read"];
  const first = await pixelmill(["workspace", "create", "One", "--data", data]);
  expect(first.code).toBe(0);
  expect(statSync(data).mode & 0o777).toBe(0o700);
  expect(await Bun.file(join(data, "format")).text()).toBe("1\n");
  await Bun.write(join(data, "format"), "2\n");
  for (const command of [["serve"], ["workspace", "create", "Two"], token]) {
    const { code, output, errors } = await pixelmill([...command, "--data", data]);
    expect({ code, output }).toEqual({ code: 1, output: "" });
    expect(errors).toEndWith(
      `pixelmill: Expected data of format 1 in ${data}, got format 2: another version of pixelmill wrote it\n`,
    );
  }
  // A crash during the first start leaves this state.
  await Bun.write(join(data, "format"), "");
  expect((await pixelmill([...token, "--data", data])).code).toBe(0);

  expect(await Bun.file(join(data, "format")).text()).toBe("1\n");

  const { code, errors } = await pixelmill(["serve", "--data", join(data, "format")]);
  expect(code).toBe(1);
  expect(errors.split("\n").at(-2)).toBe(
    `pixelmill: Cannot use the data directory ${data}/format: expected a directory, got a file`,
  );
  removeDirectory(cwd);
});

test("a directory that is no data directory is rejected and stays unchanged", async () => {
  const cwd = temporaryDirectory();
  for (const command of [
    ["workspace", "list"],
    ["token", "create"],
  ]) {
    for (const data of [cwd, join(cwd, "mistyped")]) {
      const { code, output, errors } = await pixelmill([...command, "--data", data]);
      expect({ code, output }).toEqual({ code: 1, output: "" });
      expect(errors).toBe(`pixelmill: Expected a data directory of pixelmill, got ${data}\n`);
    }
  }
  expect(readdirSync(cwd)).toEqual([]);
  removeDirectory(cwd);
});

test("an address space that is too small is reported in one line, without a stack", async () => {
  const data = temporaryDirectory();
  const entry = join(import.meta.dir, "../../src/main.ts");
  // An address space in which Bun starts, but cannot map a library.
  const command = 'ulimit -v 500000; exec "$0" "$1" serve --port 0 --admin-port 0 --data "$2"';
  const { exitCode, stderr } = Bun.spawnSync(
    ["sh", "-c", command, process.execPath, entry, join(data, "d")],
    { env: {} },
  );
  const said = stderr
    .toString()
    .split("\n")
    .filter((line) => !line.startsWith("{"));
  expect(exitCode).toBe(1);
  expect(said).toEqual([
    expect.stringMatching(/^pixelmill: Cannot load the C library: .*ulimit -v/),
    "",
  ]);
  removeDirectory(data);
});

test("unreachable brokers are reported in one line, without a stack", async () => {
  const cwd = temporaryDirectory();
  const flags = ["--port=0", "--admin-port=0", "--cluster-kafka=127.0.0.1:1"];
  const { code, errors } = await pixelmill(["serve", ...flags], {}, cwd);
  expect(code).toBe(1);
  expect(errors.split("\n").filter((line) => !line.startsWith("{"))).toEqual([
    "pixelmill: Cannot use the brokers of cluster.kafka: connect ECONNREFUSED 127.0.0.1:1",
    "",
  ]);
  removeDirectory(cwd);
}, 300_000);

test("a closed output pipe is no error of a command", async () => {
  const data = temporaryDirectory();
  const server = Bun.spawn(
    [...pixelmillCommand, "serve"].concat(
      ...["--host=127.0.0.1", "--port=0", "--admin-port=0", `--data=${join(data, "d")}`],
    ),
    { cwd: data, env: {}, stdout: "pipe", stderr: Bun.file(join(data, "errors")) },
  );
  await server.stdout.cancel();
  const errors = () => Bun.file(join(data, "errors")).text();
  await waitFor(async () => (await errors()).includes('"serving"') || undefined);
  server.kill("SIGTERM");
  expect(await server.exited).toBe(0);
  const lines = (await errors()).trimEnd().split("\n");
  expect(lines.filter((line) => !line.startsWith("{"))).toEqual([]);
  removeDirectory(data);
}, 300_000);

test("--no-request-ip leaves the client's address out of events", async () => {
  const sink = startSink();
  const server = await startServer({ flags: ["--sandbox-insecure", "--no-request-ip"] });
  const { writeKey } = await route(server, { url: sink.url });
  await pixel(server, "page", { writeKey, anonymousId: "a" });
  await waitFor(() => sink.events.length > 0);
  expect(sink.events[0]).toMatchObject({ type: "page", anonymousId: "a" });
  expect(sink.events[0]).not.toHaveProperty("request_ip");
  expect(server.errors()).toContain("sandbox.insecure");
  await server.stop();
  sink.stop();
  removeDirectory(server.directory);
}, 300_000);

describe("command beside a running server", () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(async () => {
    await server.stop();
    removeDirectory(server.directory);
  });
  const data = () => ["--data", join(server.directory, "data")];
  const get = (path: string, token: string) =>
    fetch(server.controlPlane + path, { headers: { authorization: `Bearer ${token}` } });

  test("token create creates a token that works at once", async () => {
    const { output } = await pixelmill(["token", "create", "--name", "ci", ...data()]);
    const [, token] = output.match(/^token (pm_\w{32,})\n$/)!;
    expect((await get("/v2/sources", token!)).status).toBe(200);
  });

  test("token create with --permissions creates a token with only these", async () => {
    const { output } = await pixelmill([
      "token",
      "create",
      "--permissions",
      "events:read",
      ...data(),
    ]);
    const [, token] = output.match(/^token (pm_\w{32,})\n$/)!;
    expect((await get("/v2/dead-letters", token!)).status).toBe(200);
    expect((await get("/v2/tokens", token!)).status).toBe(403);
  });

  test("workspace create creates a separate workspace", async () => {
    const { output } = await pixelmill(["workspace", "create", "Second team", ...data()]);
    const [, id, token] = output.match(/^workspace (\w+)\nadmin token (pm_\w{32,})\n$/)!;
    const { workspace } = (await (await get("/v2/workspace", token!)).json()) as any;
    expect(workspace).toMatchObject({ id, name: "Second team" });
    await server.api("POST", "/v2/sources", { name: "First team's", type: "http" });
    const { sources } = (await (await get("/v2/sources", token!)).json()) as any;
    expect(sources).toEqual([]);
  });

  test("workspace list prints each workspace on a line, for token create", async () => {
    await pixelmill(["workspace", "create", "Third\nteam", ...data()]);
    const { output } = await pixelmill(["workspace", "list", ...data()]);
    expect(output).toMatch(/^\w{27} Main\n(\w{27} .+\n)+$/);
    const id = output.match(/^(\w+) Third team$/m)![1]!;
    const made = await pixelmill(["token", "create", "--workspace", id, ...data()]);
    const [, token] = made.output.match(/^token (pm_\w{32,})\n$/)!;
    const { workspace } = (await (await get("/v2/workspace", token!)).json()) as any;
    expect(workspace).toMatchObject({ id, name: "Third\nteam" });
  });

  test.each(["port", "admin-port"])(
    "a second server on the same --%s fails to start",
    async (flag) => {
      const cwd = temporaryDirectory();
      const { port } = new URL(flag === "port" ? server.dataPlane : server.controlPlane);
      const flags = ["--host", "127.0.0.1", "--port", "0", "--admin-port", "0", `--${flag}`, port];
      const { code, errors } = await pixelmill(["serve", ...flags], {}, cwd);
      expect(code).toBe(1);
      expect(errors.split("\n").find((line) => line.startsWith("pixelmill:"))).toStartWith(
        `pixelmill: Cannot listen on 127.0.0.1 port ${port}: `,
      );
      removeDirectory(cwd);
    },
    300_000,
  );

  test("a second server on the same data directory fails with the directory's name", async () => {
    const flags = ["--port", "0", "--admin-port", "0", ...data()];
    const { code, errors } = await pixelmill(["serve", ...flags]);
    expect(code).toBe(1);
    expect(errors.split("\n").find((line) => line.startsWith("pixelmill:"))).toContain("data");
  }, 300_000);
});

test("compact rejects the data directory of a running server, and compacts a stopped one", async () => {
  const server = await startServer();
  const data = join(server.directory, "data");
  const refused = await pixelmill(["compact", "--data", data]);
  expect(refused).toMatchObject({ code: 1, output: "" });
  expect(refused.errors).toContain(
    "catalog to be free, but a server or another command has it open",
  );
  await server.stop();
  const { code, output, errors } = await pixelmill(["compact", "--data", data]);
  expect({ code, errors }).toEqual({ code: 0, errors: "" });
  expect(output).toMatch(/^catalog: [\d.]+ MiB, now [\d.]+ MiB\ndelivery: .+ MiB\n$/);
  const again = await startServer({ directory: server.directory });
  expect((await again.api("POST", "/v2/sources", { name: "New", type: "http" })).status).toBe(201);
  await again.stop();
  removeDirectory(server.directory);
});

test("commands for the data of a single server change nothing in the directory of a node", async () => {
  const directory = temporaryDirectory();
  const data = join(directory, "data");
  mkdirSync(join(data, "cluster"), { recursive: true });
  writeFileSync(join(data, "format"), "1\n");
  const before = readdirSync(data, { recursive: true });
  const commands = [
    ["backup", join(directory, "backup.tar.zst")],
    ["compact"],
    ["workspace", "list"],
    ["workspace", "create", "Shop"],
    ["token", "create"],
  ];
  for (const command of commands) {
    const { code, output, errors } = await pixelmill([...command, "--data", data]);
    expect({ code, output }).toEqual({ code: 1, output: "" });
    expect(errors).toContain("the data directory of a node: this command does not work");
  }
  expect(readdirSync(data, { recursive: true })).toEqual(before);
  expect(readdirSync(directory)).toEqual(["data"]);
  removeDirectory(directory);
});
