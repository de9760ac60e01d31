import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { pixelmillCommand } from "./command.ts";
import {
  childrenOf,
  pixel,
  removeDirectory,
  route,
  startServer,
  startSink,
  temporaryDirectory,
  waitFor,
} from "./server.ts";

/** Effects of the machine, the terminal and the orchestrator on a server. */
const cwd = temporaryDirectory();
afterAll(() => removeDirectory(cwd));

test("SIGHUP, SIGUSR1 and SIGUSR2 end neither the server nor an ingest process", async () => {
  const sink = startSink();
  const server = await startServer();
  const [ingest] = childrenOf(server.pid, "ingest");
  const { writeKey } = await route(server, { url: sink.url });
  for (const [at, signal] of (["SIGHUP", "SIGUSR1", "SIGUSR2"] as const).entries()) {
    for (const pid of [server.pid, ingest!]) process.kill(pid, signal);
    await waitFor(() => server.errors().includes(signal) || undefined);
    expect((await pixel(server, "page", { writeKey, anonymousId: "a" })).status).toBe(200);
    await waitFor(() => sink.events.length > at);
    expect(childrenOf(server.pid, "ingest")).toEqual([ingest!]);
  }
  expect(await server.stop()).toBe(0);
  sink.stop();
  removeDirectory(server.directory);
}, 300_000);

test("without Landlock the demo serves pixels, and reports what user code needs", async () => {
  const bare = [process.execPath, join(import.meta.dir, "without-landlock.ts")];
  const command = [...bare, ...pixelmillCommand];
  const server = await startServer({ command, flags: ["--demo"] });
  expect(server.output()).toContain("demo: User code cannot run: this kernel has no Landlock");
  expect(server.output()).toContain("--sandbox-insecure");
  const [, url] = server.output().match(/demo: open (\S+)/)!;
  const [, file] = server.output().match(/demo: then look into (\S+)/)!;
  expect((await fetch(url!)).status).toBe(200);
  const delivered = await waitFor(async () => {
    const text = (await Bun.file(file!).exists()) && (await Bun.file(file!).text());
    return text || undefined;
  });
  expect(JSON.parse(delivered)).toMatchObject({ type: "page", name: "Home" });
  expect(JSON.parse(delivered).properties).not.toHaveProperty("greeting");
  expect(await server.stop()).toBe(0);

  // The same data with working user code: the server completes the demo.
  const again = await startServer({ directory: server.directory, flags: ["--demo"] });
  expect(again.output()).not.toContain("cannot run");
  expect(
    (await fetch(`${again.dataPlane}${new URL(url!).pathname}${new URL(url!).search}`)).status,
  ).toBe(200);
  await waitFor(
    async () => (await Bun.file(file!).text()).includes("HELLO FROM DEMO!") || undefined,
  );
  expect(await again.stop()).toBe(0);
  removeDirectory(server.directory);
}, 300_000);

test.each(["--version", "--help", "serve --help", "workspace create --help"])(
  "%s needs no temporary directory",
  async (line) => {
    const child = Bun.spawn([...pixelmillCommand, ...line.split(" ")], {
      cwd,
      env: { TMPDIR: "/nowhere", BUN_TMPDIR: "/nowhere" },
      stdout: "pipe",
      stderr: "pipe",
    });
    expect(await new Response(child.stderr).text()).toBe("");
    expect(await child.exited).toBe(0);
  },
);

test("a server whose port is taken creates no admin token", async () => {
  const taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const address = ["--host", "127.0.0.1", "--port", "0", "--admin-port", String(taken.port)];
  const serve = () =>
    Bun.spawn([...pixelmillCommand, "serve", "--data", join(cwd, "first"), ...address], {
      cwd,
      env: {},
      stdout: "pipe",
      stderr: "pipe",
    });
  const refused = serve();
  expect(await new Response(refused.stdout).text()).toBe("");
  const [starting, ...errors] = (await new Response(refused.stderr).text()).split("\n");
  expect(JSON.parse(starting!)).toMatchObject({ msg: "starting", level: "info" });
  expect(errors.join("\n")).toBe(
    `pixelmill: Cannot listen on 127.0.0.1 port ${taken.port}: address already in use (EADDRINUSE)\n`,
  );
  expect(await refused.exited).toBe(1);
  taken.stop();

  const served = serve();
  let output = "";
  for await (const chunk of served.stdout) {
    output += new TextDecoder().decode(chunk);
    if (output.includes("control plane listening")) break;
  }
  expect(output).toMatch(/^admin token pm_\w{32,} \(shown this once\)\n/);
  served.kill();
  expect(await served.exited).toBe(0);
}, 300_000);
