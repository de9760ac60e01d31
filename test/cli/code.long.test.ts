import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { removeDirectory, type Server, startServer } from "../e2e/server.ts";
import { type Client, inTerminal, obeyedControls, pipedTo, widestLine } from "./command.ts";

let server: Server;
let client: Client;
/** A new directory of code for each test, and a new name for its transformation. */
let root: string;
let name: string;
let number = 0;

beforeAll(async () => {
  server = await startServer();
  client = pipedTo(server);
});
afterAll(async () => {
  await server.stop();
  removeDirectory(server.directory);
});
beforeEach(() => {
  root = mkdtempSync(join(server.directory, "code-"));
  name = `Shout ${++number}`;
});

const EVIL_METADATA = "transformations/evil-2j/transformation.json";

const upper = "export const up = (text) => text.toUpperCase();\n";
const shout = (log = "one") => `import { up } from "textTools${number}";
export function transformEvent(event) {
  log("${log}");
  event.event = up(event.event);
  return event;
}
`;

function write(path: string, content: unknown) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  const text = typeof content === "string" ? content : JSON.stringify(content);
  writeFileSync(join(root, path), text);
}

/** Writes a transformation with a library and a test case. */
function writeCode(expected = "HI") {
  write("libraries/text-tools/library.json", { name: `Text tools ${number}` });
  write("libraries/text-tools/code.js", upper);
  write("transformations/shout/transformation.json", { name });
  write("transformations/shout/code.js", shout());
  write("transformations/shout/tests/capitals.json", {
    name: "Capitals",
    input: [{ type: "track", event: "hi" }],
    expectedOutput: [{ type: "track", event: expected }],
  });
}

/** All files of the directory with their contents. */
function files(directory = root): Record<string, string> {
  const paths = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    paths.sort().map((path) => [path.slice(directory.length + 1), readFileSync(path, "utf8")]),
  );
}

async function find(published = true) {
  const { body } = await server.api("GET", `/transformations?published=${published}`);
  return body.transformations.find((it: { name: string }) => it.name === name);
}

/** Saves another revision, as a user of the console does. */
async function changeAtServer(code: string) {
  const { id } = (await find(false)) ?? (await find());
  const { status } = await server.api("POST", `/transformations/${id}`, { code });
  expect(status).toBe(200);
}

async function run(...args: string[]) {
  const { code, output, errors } = await client(args, { cwd: root });
  return { code, lines: output.trimEnd().split("\n"), errors };
}

describe("push", () => {
  test("brings code and test cases, twice changes nothing, and publishes only with --publish", async () => {
    writeCode();
    const dry = await run("push", "--dry-run", "--publish");
    expect(dry.lines.at(-1)).toBe("2 items to push, 2 to publish");
    expect(await find(false)).toBeUndefined();

    expect((await run("push")).lines).toEqual([
      "libraries/text-tools: only here",
      "transformations/shout: only here",
      "2 items pushed",
    ]);
    const draft = await find(false);
    expect(draft.code).toBe(shout());
    const { body } = await server.api("GET", `/v2/transformations/${draft.id}/test-cases`);
    expect(body.testCases.map((it: { name: string }) => it.name)).toEqual(["Capitals"]);
    expect((await run("push")).lines).toEqual(["0 items pushed"]);
    expect((await find(false)).versionId).toBe(draft.versionId);

    const published = await run("push", "--publish");
    expect(published).toMatchObject({ code: 0, lines: ["0 items pushed", "2 items published"] });
    expect((await find()).versionId).toBe(draft.versionId);
    const again = await run("push", "--publish");
    expect(again).toMatchObject({ code: 0, lines: ["0 items pushed", "nothing to publish"] });
    expect((await run("diff")).lines).not.toContain("transformations/shout: changed here");
  });

  test("replaces, adds and deletes test cases", async () => {
    writeCode();
    await run("push");
    const events = [{ type: "page" }];
    write("transformations/shout/tests/capitals.json", { name: "Capitals", input: events });
    write("transformations/shout/tests/more.json", { name: "More", input: events });
    await run("push");
    const { id } = await find(false);
    const cases = async () => {
      const { body } = await server.api("GET", `/v2/transformations/${id}/test-cases`);
      return body.testCases.map((it: any) => [it.name, it.input, it.expectedOutput]);
    };
    expect(await cases()).toEqual([
      ["Capitals", events, undefined],
      ["More", events, undefined],
    ]);
    rmSync(join(root, "transformations/shout/tests/capitals.json"));
    await run("push");
    expect(await cases()).toEqual([["More", events, undefined]]);
  });

  test("a change that others make during the push stays", async () => {
    writeCode();
    await run("push");
    write("transformations/shout/code.js", shout("two"));
    const theirs = "export const transformEvent = () => undefined;\n";
    const proxy = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      async fetch(request) {
        const { pathname, search } = new URL(request.url);
        if (request.method === "POST") await changeAtServer(theirs);
        const { method, headers } = request;
        const body = method === "GET" ? undefined : await request.text();
        return fetch(server.controlPlane + pathname + search, {
          method,
          headers,
          ...(body !== undefined && { body }),
        });
      },
    });
    const controlPlane = `http://127.0.0.1:${proxy.port}`;
    const { code, errors } = await pipedTo({ controlPlane })(["push"], { cwd: root });
    proxy.stop(true);
    expect(code).toBe(1);
    expect(errors).toMatch(/transformations\/shout: .*saved another revision.*run pixelmill diff/);
    expect((await find(false)).code).toBe(theirs);
  });
});

describe("pull", () => {
  test("writes what push brought, and twice changes nothing", async () => {
    writeCode();
    await run("push");
    const pushed = files();
    const other = mkdtempSync(join(server.directory, "other-"));
    await client(["pull", other]);
    const [path = ""] = Object.entries(files(other)).find(([, text]) => text.includes(name)) ?? [];
    const folder = dirname(path);
    expect(files(other)[`${folder}/code.js`]).toBe(shout());
    expect(JSON.parse(files(other)[`${folder}/tests/capitals.json`]!)).toEqual(
      JSON.parse(pushed["transformations/shout/tests/capitals.json"]!),
    );
    const first = files(other);
    const again = await client(["pull", other]);
    expect(again).toEqual({ code: 0, output: "0 items written\n", errors: "" });
    expect(files(other)).toEqual(first);

    await changeAtServer("export const transformEvent = (event) => event;\n");
    const dry = await client(["pull", "--dry-run", other]);
    expect(dry.output).toBe(`${folder}: changed on the server\n1 item to write\n`);
    expect(files(other)).toEqual(first);
    await client(["pull", other]);
    expect(files(other)[`${folder}/code.js`]).toContain("(event) => event");
  });

  test("a name of the server leads to no other place", async () => {
    name = "../../../evil \x1b[2J";
    await server.api("POST", "/transformations", { name, language: "python", code: "x = 1\n" });
    const { output } = await client(["pull", root]);
    expect(obeyedControls(output)).toEqual([]);
    const paths = Object.keys(files()).filter((path) => path.includes("evil"));
    expect(paths).toEqual(["transformations/evil-2j/code.py", EVIL_METADATA]);
    expect(JSON.parse(files()[EVIL_METADATA]!).name).toBe(name);
    expect(files()["transformations/evil-2j/code.py"]).toBe("x = 1\n");
  });
});

describe("test", () => {
  test("runs the cases of a directory, and of one file, with the libraries beside it", async () => {
    writeCode();
    const whole = await run("test", ".");
    expect(whole).toMatchObject({
      code: 0,
      lines: [
        "pass  libraries/text-tools: loads",
        "pass  transformations/shout: Capitals",
        "2 passed",
      ],
    });
    const one = await run("test", "transformations/shout/code.js");
    expect(one.lines.at(-1)).toBe("1 passed");
    write("loose.py", "def transformEvent(event, metadata):\n    return event\n");
    expect((await run("test", "loose.py")).lines).toEqual(["pass  loose.py: loads", "1 passed"]);
  }, 300_000);

  test("a failure exits with 1, is explained, and is in the report of JUnit", async () => {
    writeCode("HO");
    write("transformations/shout/code.js", shout("\\u202e<&"));
    const { code, lines } = await run("test", ".", "--junit", "report.xml");
    expect(code).toBe(1);
    expect(lines).toContain('      /0/event: expected "HO", got "HI"');
    expect(lines.at(-1)).toBe("1 failed, 1 passed");
    const report = files()["report.xml"]!;
    expect(report).toContain('<testsuites name="pixelmill" tests="2" failures="1"');
    expect(report).toContain("&lt;&amp;</system-out>");

    const terminal = inTerminal(server, ["test", "."], { cwd: root });
    expect(await terminal.exited).toBe(1);
    expect(terminal.screen()).toContain("\\u202e<&");
    expect(obeyedControls(terminal.screen())).toEqual([]);
    expect(widestLine(terminal.screen())).toBeLessThanOrEqual(80);
  });

  test("a file that does not fit is named", async () => {
    writeCode();
    write("transformations/shout/tests/capitals.json", { name: "X", input: [1] });
    const bad = await run("test", ".");
    expect(bad.errors).toMatch(/Expected a list of events for input in .*capitals\.json\n$/);
    write("transformations/shout/tests/capitals.json", "{");
    expect((await run("push")).errors).toMatch(/Cannot read .*capitals\.json: /);
  });
});
