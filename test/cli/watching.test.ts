import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { missingPrograms, testWith } from "../counterpart.ts";
import {
  ADMIN_TOKEN,
  pixel,
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  waitFor,
} from "../e2e/server.ts";
import { type Client, inTerminal, obeyedControls, pipedTo, widestLine } from "./command.ts";
import { inProcess } from "./in-process.ts";

/** A name and an answer that would change a terminal's screen. */
const EVIL = "\x1b[2J\u009b31m\u202eevil";

let server: Server;
let client: Client;
let route_: Awaited<ReturnType<typeof route>>;
let sinkStatus = 200;
const sink = startSink(() => sinkStatus);
const away = { controlPlane: "http://127.0.0.1:1" };

beforeAll(async () => {
  server = await startServer();
  client = inProcess(server);
  route_ = await route(server, { url: sink.url });
  await waitFor(async () => /\nSink +webhook +ok /.test((await client(["status"])).output));
  await waitFor(async () => (await client(["status"])).code === 0);
});
afterAll(async () => {
  await server.stop();
  sink.stop();
  removeDirectory(server.directory);
});

const track = (event: string, anonymousId = "u1") =>
  pixel(server, "track", { writeKey: route_.writeKey, event, anonymousId });

/** Starts a tail, and waits until the server has opened its stream. */
async function openTail(args: string[]) {
  const tail = inTerminal(server, ["tail", ...args]);
  await tail.shown("following");
  return tail;
}

describe("status", () => {
  test("prints figures and exits with 0 when nothing needs a person", async () => {
    const { code, output, errors } = await client(["status"]);
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    expect(output).toStartWith(`Main at ${server.controlPlane}\nnothing needs a person\n`);
    expect(output).toMatch(/\nDESTINATION +KIND +STATE .*\nSink +webhook +ok /);
    expect(output).not.toContain("\x1b");
    const json = await client(["status", "--json"]);
    expect(JSON.parse(json.output).destinations[0].name).toBe("Sink");
  });

  test("--server and --token go before the environment", async () => {
    const flags = ["--server", `${server.controlPlane}/`, "--token", ADMIN_TOKEN];
    const { code } = await inProcess(away)(["status", ...flags], {
      environment: { PIXELMILL_TOKEN: "pm_other" },
    });
    expect(code).toBe(0);
  });
});

describe("a profile", () => {
  const file = () => join(server.directory, "pixelmill", "profiles.toml");
  const environment = () => ({
    XDG_CONFIG_HOME: server.directory,
    PIXELMILL_SERVER: "",
    PIXELMILL_TOKEN: "",
  });

  test("names server and token, and only its owner may read it", async () => {
    mkdirSync(join(server.directory, "pixelmill"), { recursive: true });
    const profile = `server = "${server.controlPlane}"\ntoken = "${ADMIN_TOKEN}"\n`;
    writeFileSync(file(), `[default]\n${profile}[shop]\n${profile}`);
    chmodSync(file(), 0o640);
    const readable = await client(["status"], { environment: environment() });
    expect(readable.code).toBe(1);
    expect(readable.errors).toContain(`run chmod 600 ${file()}`);

    chmodSync(file(), 0o600);
    for (const flags of [[], ["--profile", "shop"]]) {
      const { code, errors } = await client(["status", ...flags], { environment: environment() });
      expect({ code, errors }).toEqual({ code: 0, errors: "" });
    }
    const misspelt = await client(["status", "--profile", "shpo"], { environment: environment() });
    expect(misspelt.errors).toContain("Unknown profile shpo");
    expect(misspelt.errors).toEndWith("; the nearest is shop\n");
  });

  test("PIXELMILL_TOKEN_FILE names a file with the token", async () => {
    const path = join(server.directory, "token");
    writeFileSync(path, `${ADMIN_TOKEN}\n`);
    const own = { PIXELMILL_TOKEN: "", PIXELMILL_TOKEN_FILE: path };
    expect((await client(["status"], { environment: own })).code).toBe(0);
    const missing = { ...own, PIXELMILL_TOKEN_FILE: `${path}-missing` };
    const { code, errors } = await client(["status"], { environment: missing });
    expect(code).toBe(1);
    expect(errors).toContain(`Cannot read PIXELMILL_TOKEN_FILE ${path}-missing: no such file`);
  });

  test("its token goes to no other server", async () => {
    const flags = ["--server", "http://127.0.0.1:1"];
    const { code, errors } = await client(["status", ...flags], { environment: environment() });
    expect(code).toBe(1);
    expect(errors).toContain("Expected a token for http://127.0.0.1:1");
  });
});

describe("a server that does not answer as expected", () => {
  test.each([["status"], ["tail"]])("%s says that it is away, and exits with 3", async (name) => {
    const { code, output, errors } = await inProcess(away)([name]);
    expect({ code, output }).toEqual({ code: 3, output: "" });
    expect(errors).toBe(
      "pixelmill: Cannot reach the server at http://127.0.0.1:1: connection refused (ECONNREFUSED)\n",
    );
  });

  test("a wrong token and a token without permission are named", async () => {
    const wrong = await client(["status"], { environment: { PIXELMILL_TOKEN: "pm_wrong" } });
    expect(wrong.code).toBe(3);
    expect(wrong.errors).toContain("refuses the token: Invalid, expired or revoked token");
    const body = { name: "weak", permissions: ["transformations:edit"] };
    const weak = (await server.api("POST", "/v2/tokens", body)).body.token.secret;
    for (const [name, needed] of [
      ["status", "events:read"],
      ["tail", "events:read or workspace:admin"],
    ] as const) {
      const { code, errors } = await client([name], { environment: { PIXELMILL_TOKEN: weak } });
      expect(code).toBe(3);
      expect(errors).toBe(`pixelmill: The token lacks the permission ${needed}\n`);
    }
  });

  test("a server that is not pixelmill is named, and its text is escaped", async () => {
    const other = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) =>
        request.url.endsWith("/a/v2/overview")
          ? Response.json({ message: EVIL }, { status: 400 })
          : new Response("hello", { status: 404 }),
    });
    const controlPlane = `http://127.0.0.1:${other.port}`;
    const strange = await inProcess({ controlPlane })(["status"]);
    expect(strange.code).toBe(3);
    expect(strange.errors).toContain("Expected the control plane of pixelmill at");
    const evil = await inProcess({ controlPlane: `${controlPlane}/a` })(["status"]);
    expect(evil.errors).toContain("\\u001b[2J\\u009b31m\\u202eevil");
    expect(obeyedControls(evil.errors)).toEqual([]);
    other.stop(true);
  });
});

testWith(missingPrograms("openssl"))(
  "a certificate of an unknown authority is named, and accepted with NODE_EXTRA_CA_CERTS",
  async () => {
    const [key, cert] = ["key.pem", "cert.pem"].map((name) => join(server.directory, name));
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    const files = ["-keyout", key!, "-out", cert!];
    Bun.spawnSync(["openssl", "req", "-x509", ...curve, ...subject, ...files], {
      stderr: "ignore",
    });
    const proxy = Bun.serve({
      port: 0,
      tls: { key: Bun.file(key!), cert: Bun.file(cert!) },
      fetch: ({ url, headers }) => fetch(server.controlPlane + new URL(url).pathname, { headers }),
    });
    const behind = pipedTo({ controlPlane: `https://localhost:${proxy.port}` });
    const unknown = await behind(["status"]);
    expect(unknown.code).toBe(3);
    expect(unknown.errors).toEndWith(": its certificate is self-signed\n");
    const { code } = await behind(["status"], { environment: { NODE_EXTRA_CA_CERTS: cert! } });
    expect(code).toBe(0);
    proxy.stop(true);
  },
);

describe("a typing error", () => {
  test.each([
    [["statsu"], 2, "Unknown command statsu; the nearest is status"],
    [["status", "--jsno"], 2, "Unknown option '--jsno'; the nearest is --json"],
    [["tail", "--stage", "recieved"], 1, "Unknown stage recieved; expected some of received"],
    [["tail", "--destination", "Snik"], 1, "Unknown destination Snik; the nearest is Sink"],
    [["tail", "--count", "0"], 1, "Expected --count as a whole number from 1 on"],
    [["status", "--server", "ftp://x"], 1, "Expected the server as a URL that begins with http"],
  ])("the arguments %j are refused with a message of their own", async (args, code, message) => {
    const got = await client(args as string[]);
    expect(got.code).toBe(code);
    expect(got.errors).toStartWith(`pixelmill: ${message}`);
    expect(got.output).toBe("");
  });
});

describe("tail", () => {
  test("prints JSON lines when piped, and stops after --count", async () => {
    const child = client(["tail", "--count", "2", "--event", "Bought"]);
    const ended = child.then(() => true);
    // The tail shows events from its opening on only.
    await waitFor(async () => {
      await track("Other");
      await track(`Bought`);
      return Promise.race([ended, Bun.sleep(50).then(() => undefined)]);
    });
    const { code, output, errors } = await child;
    expect(code).toBe(0);
    const lines = output
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ event }) => event.event)).toEqual(["Bought", "Bought"]);
    expect(errors).toMatch(/\n2 shown(, \d+ left out by filters)?\n$/);
  });

  test("fits a terminal of 80 columns, and escapes what a terminal obeys", async () => {
    const tail = await openTail(["--stage", "received"]);
    await track(`${EVIL}${"界".repeat(60)}`);
    await tail.shown("received");
    await tail.shown("…");
    tail.signal("SIGINT");
    expect(await tail.exited).toBe(0);
    expect(tail.screen()).toContain("\\u001b[2J\\u009b31m\\u202eevil");
    expect(tail.screen()).toContain("1 shown");
    expect(obeyedControls(tail.screen())).toEqual([]);
    expect(widestLine(tail.screen())).toBeLessThanOrEqual(80);
  });
});

test("a help text fits 80 columns", async () => {
  for (const args of [["--help"], ["status", "--help"], ["tail", "--help"], ["serve", "--help"]]) {
    const { output } = await client(args);
    expect(widestLine(output)).toBeLessThanOrEqual(80);
  }
});

test("status puts what needs a person first, and exits with 1", async () => {
  sinkStatus = 400;
  await track(`${EVIL}`);
  await waitFor(async () => {
    const { body } = await server.api("GET", "/v2/overview");
    return body.problems.length > 0 || undefined;
  });
  const status = inTerminal(server, ["status"]);
  expect(await status.exited).toBe(1);
  const [, , problem = ""] = Bun.stripANSI(status.screen()).split("\r\n");
  expect(problem).toContain("Sink");
  expect(widestLine(status.screen())).toBeLessThanOrEqual(80);
  expect(obeyedControls(status.screen())).toEqual([]);
});
