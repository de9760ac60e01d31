import { expect, test } from "bun:test";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { runPixelmill } from "../e2e/command.ts";
import {
  lanesAreThrough,
  pixel,
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  temporaryDirectory,
  waitFor,
} from "../e2e/server.ts";
import { holds } from "../until.ts";

const code = "export const transformEvent = (event) => ({ ...event, through: 'code' });";

const send = async (server: Server, writeKey: string, id: string) => {
  const query = { writeKey, userId: "u", event: "Kept", "properties.id": id };
  expect((await pixel(server, "track", query)).status).toBe(200);
};
const idsOf = (events: any[]) => events.map(({ properties }) => properties.id);

test("a restored backup of a running server delivers the undelivered events once it is released", async () => {
  // Down during the backup: only the events of that time are owed.
  let down = false;
  const sink = startSink(() => (down ? 503 : 200));
  const server = await startServer();
  const { writeKey, transformationId } = await route(server, { url: sink.url, code });
  await send(server, writeKey, "before");
  await waitFor(() => sink.events.length === 1);
  // A backup before the commit of this outcome has the event as undelivered.
  await waitFor(() => lanesAreThrough(server, 1));
  down = true;
  for (const id of ["owed 1", "owed 2"]) await send(server, writeKey, id);

  let loading = true;
  const load = (async () => {
    for (let n = 0; loading; n++) await send(server, writeKey, `meanwhile ${n}`);
  })();
  const file = join(server.directory, "backup.tar.zst");
  const made = await runPixelmill(["backup", file, "--data", join(server.directory, "data")]);
  loading = false;
  await load;
  expect(made.errors).toBe("");
  expect(made.output).toMatch(
    /^backup .+: [\d,]+ bytes, workspaces: 1, events in the log: \d+, dead/,
  );
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(server.directory).sort()).toEqual(["backup.tar.zst", "data"]);
  await server.stop("SIGKILL");
  down = false;
  sink.events.length = 0;

  const directory = temporaryDirectory();
  const data = ["--data", join(directory, "data")];
  const restored = await runPixelmill(["restore", file, "--hold", ...data]);
  expect({ ...restored, output: "" }).toEqual({ code: 0, output: "", errors: "" });
  const copy = await startServer({ directory });
  const ready = await copy.api("GET", "/ready");
  expect(ready.body.warnings.join()).toContain("Deliveries are held");
  // The copy takes pixels and requests, with the keys and tokens of the original.
  await send(copy, writeKey, "after");
  expect((await copy.api("GET", `/transformations/${transformationId}`)).body.code).toBe(code);
  await holds(500, () => expect(sink.events).toEqual([]));

  expect((await runPixelmill(["release", ...data])).output).toContain("are released");
  await waitFor(() => idsOf(sink.events).includes("after"));
  const ids = idsOf(sink.events);
  expect(ids.slice(0, 2)).toEqual(["owed 1", "owed 2"]);
  expect(ids).not.toContain("before");
  expect(ids.at(-1)).toBe("after");
  expect(sink.events.every(({ through }) => through === "code")).toBe(true);
  expect((await copy.api("GET", "/ready")).body.warnings).toEqual([]);
  expect((await runPixelmill(["release", ...data])).output).toBe("nothing was held\n");
  expect(await copy.stop()).toBe(0);
  sink.stop();
  for (const it of [server.directory, directory]) removeDirectory(it);
}, 300_000);

test("a server without a pixel since its start is backed up, and its copy accepts pixels", async () => {
  const sink = startSink();
  let server = await startServer();
  const { directory } = server;
  const backup = async (name: string) =>
    (await runPixelmill(["backup", join(directory, name), "--data", join(directory, "data")]))
      .errors;
  expect(await backup("new.tar.zst")).toBe("");
  const { writeKey } = await route(server, { url: sink.url });
  await send(server, writeKey, "before");
  await waitFor(() => sink.events.length === 1);
  expect(await server.stop()).toBe(0);
  server = await startServer({ directory });
  expect(await backup("restarted.tar.zst")).toBe("");
  expect(await server.stop()).toBe(0);

  const copied = temporaryDirectory();
  const file = join(directory, "restarted.tar.zst");
  const restored = await runPixelmill(["restore", file, "--data", join(copied, "data")]);
  expect({ ...restored, output: "" }).toEqual({ code: 0, output: "", errors: "" });
  const copy = await startServer({ directory: copied });
  await send(copy, writeKey, "after");
  await waitFor(() => idsOf(sink.events).includes("after"));
  expect(await copy.stop()).toBe(0);
  sink.stop();
  for (const it of [directory, copied]) removeDirectory(it);
}, 300_000);

test("a failed backup or restore is reported in one sentence and leaves no file", async () => {
  const directory = temporaryDirectory();
  const at = (name: string) => join(directory, name);
  const data = ["--data", at("data")];
  expect((await runPixelmill(["backup", at("b"), ...data])).errors).toStartWith(
    "pixelmill: Expected a data directory of pixelmill, got ",
  );
  await runPixelmill(["workspace", "create", "One", ...data]);
  expect((await runPixelmill(["backup", at("b"), ...data])).code).toBe(0);
  expect((await runPixelmill(["backup", at("b"), ...data])).errors).toBe(
    `pixelmill: Expected a new file, but ${at("b")} exists\n`,
  );
  expect((await runPixelmill(["backup", at("no/where"), ...data])).errors).toStartWith(
    `pixelmill: Cannot make the backup ${at("no/where")}: ENOENT`,
  );
  expect((await runPixelmill(["restore", at("b"), ...data])).errors).toBe(
    `pixelmill: Expected ${at("data")} to be empty or absent, but it has content\n`,
  );

  const whole = await Bun.file(at("b")).bytes();
  await Bun.write(at("short"), whole.slice(0, whole.length / 2));
  whole[whole.length - 50]! ^= 0xff;
  await Bun.write(at("flipped"), whole);
  await Bun.write(at("text"), "this is no archive");
  await Bun.$`tar -C ${directory} --zstd -cf ${at("strange")} text`.quiet();
  for (const [file, reason] of [
    ["absent", "Cannot read"],
    ["short", ""],
    ["flipped", "Cannot read"],
    ["text", "Cannot read"],
    ["strange", "Expected a backup of pixelmill, got an archive with text"],
  ] as const) {
    const { code, errors } = await runPixelmill(["restore", at(file), "--data", at("new")]);
    expect({ file, code, reason: errors.slice(11, 11 + reason.length) }).toEqual({
      file,
      code: 1,
      reason,
    });
    expect(existsSync(at("new"))).toBe(false);
  }
  expect(readdirSync(directory).sort()).toEqual([
    "b",
    "data",
    "flipped",
    "short",
    "strange",
    "text",
  ]);
  removeDirectory(directory);
}, 300_000);
