import { expect, test } from "bun:test";
import { closeSync, openSync } from "node:fs";
import { errorFields } from "../../src/observe/log.ts";

test("an error of many attempts is logged with the reason of the last one", () => {
  const attempts = Array.from({ length: 60 }, (_, index) => {
    return new AggregateError([new Error(`connect ECONNREFUSED ${index}`)], "No connection");
  });
  const fields = errorFields(new AggregateError(attempts, "metadata failed 60 times"));
  expect(fields).toMatchObject({
    message: "metadata failed 60 times",
    reason: "connect ECONNREFUSED 59",
  });
  expect(JSON.stringify(fields).length).toBeLessThan(5_000);
});

test("an error of one cause is logged with its own fields", () => {
  const fields = errorFields(new Error("No", { cause: new Error("Because") }));
  expect(fields).toMatchObject({ type: "Error", message: "No: Because" });
  expect(fields).not.toHaveProperty("reason");
});

test("a process that exits at once has written its log to standard error, without secrets", () => {
  const path = "src/observe/log.ts";
  const program = `
    const { createLogger } = await import("./${path}");
    const logger = createLogger("info", { node: "n1" });
    for (let n = 0; n < 1_000; n += 1) logger.info({ n, source: { writeKey: "k", token: "t", password: "p" } }, "line");
    logger.debug("finer");
    process.exit(0);
  `;
  const { stdout, stderr } = Bun.spawnSync([process.execPath, "-e", program]);
  expect(stdout.toString()).toBe("");
  const lines = stderr.toString().trim().split("\n");
  expect(lines).toHaveLength(1_000);
  expect(JSON.parse(lines[999]!)).toMatchObject({
    level: "info",
    service: "pixelmill",
    node: "n1",
    n: 999,
    source: { writeKey: "[redacted]", token: "[redacted]", password: "[redacted]" },
    msg: "line",
  });
});

test("a log on a full disk stops no call, and takes a bounded amount of memory", () => {
  const program = `
    const { createLogger } = await import("./src/observe/log.ts");
    const logger = createLogger("info");
    const line = "x".repeat(10_000);
    for (let n = 0; n < 20_000; n += 1) logger.info(line);
    Bun.gc(true);
    console.log(process.memoryUsage().rss < 180e6);
  `;
  const stderr = openSync("/dev/full", "w");
  const { stdout } = Bun.spawnSync([process.execPath, "-e", program], { stderr });
  closeSync(stderr);
  expect(stdout.toString()).toBe("true\n");
});
