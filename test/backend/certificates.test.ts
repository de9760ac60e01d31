import { afterAll, afterEach, expect, jest, test } from "bun:test";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { openCertificates } from "../../src/backend/reloadable/certificates.ts";
import { StartError } from "../../src/errors.ts";
import { StartSteps } from "../../src/observe/start-steps.ts";
import { TLS_FILES_CHECK_MS } from "../../src/settings/limits.ts";
import { LiveSettings } from "../../src/settings/live-settings.ts";
import { readSettings } from "../../src/settings/reader.ts";
import { newKeys } from "../http/new-keys.ts";
import { listeningLogger } from "../log/support.ts";

const directory = mkdtempSync(join(tmpdir(), "pixelmill-certificates-"));
afterAll(() => rmSync(directory, { recursive: true }));
const [certificate, key] = [join(directory, "certificate.pem"), join(directory, "key.pem")];

let stack = new AsyncDisposableStack();
afterEach(async () => {
  jest.useRealTimers();
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

function write({ cert, key: text }: ReturnType<typeof newKeys>): void {
  for (const path of [certificate, key]) rmSync(path, { force: true });
  writeFileSync(certificate, cert);
  writeFileSync(key, text);
}

function open() {
  const flags = { "tls-certificate": certificate, "tls-key": key };
  const settings = new LiveSettings(() => readSettings(flags, {}));
  const { logger, lines } = listeningLogger();
  const { config } = settings;
  const metrics = new Registry();
  const steps = new StartSteps(logger);
  const opening = { config, settings, logger, metrics, stack, steps, requestStop() {} };
  return { lines, settings, ...openCertificates(opening) };
}

/** Makes a file one that cannot be looked at: a symbolic link to itself. */
function makeUnreachable(path: string): void {
  rmSync(path);
  symlinkSync(path, path);
}

test("a file that cannot be looked at leaves the former certificate in force, and its successor is taken", () => {
  write(newKeys());
  jest.useFakeTimers();
  const { data, settings, lines } = open();
  const former = data.keys();
  makeUnreachable(certificate);
  jest.advanceTimersByTime(TLS_FILES_CHECK_MS);
  expect(data.keys()).toEqual(former!);
  expect(data.warnings()).toEqual([
    expect.stringMatching(
      /^The former TLS files of the data plane stay in use: Cannot read the file .*certificate\.pem/,
    ),
  ]);
  jest.advanceTimersByTime(TLS_FILES_CHECK_MS);
  expect(lines).toHaveLength(1);
  expect(() => settings.reload()).toThrow(StartError);
  const next = newKeys();
  write(next);
  jest.advanceTimersByTime(TLS_FILES_CHECK_MS);
  expect(data.keys()).toMatchObject(next);
  expect(data.warnings()).toEqual([]);
});

test("a start with a file that cannot be looked at fails with a sentence", () => {
  write(newKeys());
  makeUnreachable(key);
  expect(open).toThrow(`Cannot read the file ${key} of tls.key: `);
});
