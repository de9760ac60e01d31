import { afterAll, afterEach, expect, jest, setSystemTime, test } from "bun:test";
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

function open(flags: Record<string, string> = { "tls-certificate": certificate, "tls-key": key }) {
  const settings = new LiveSettings(() => readSettings(flags, {}));
  const { logger, lines } = listeningLogger();
  const { config } = settings;
  const metrics = new Registry();
  const steps = new StartSteps(logger);
  const opening = { config, settings, logger, metrics, stack, steps, requestStop() {} };
  const valuesOf = async (name: string) => {
    const { values } = await metrics.getSingleMetric(name)!.get();
    return values.map(({ labels, value }) => [labels.plane, value]);
  };
  return { lines, settings, flags, valuesOf, ...openCertificates(opening) };
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

test("a changed certificate is passed on once, from its files and from others after a reload", async () => {
  const [first, second, third] = [newKeys(), newKeys(), newKeys()];
  write(first);
  jest.useFakeTimers();
  const { data, control, settings, flags, lines, valuesOf } = open();
  const told: unknown[] = [];
  data.onChange((keys) => told.push(keys));
  jest.advanceTimersByTime(TLS_FILES_CHECK_MS);
  settings.reload();
  expect([told, lines]).toEqual([[], []]);
  write(second);
  jest.advanceTimersByTime(TLS_FILES_CHECK_MS);
  expect(told).toEqual([second]);
  expect(lines).toMatchObject([
    { plane: "data", msg: "TLS certificate replaced", expires: expect.stringMatching(/^20\d\d-/) },
  ]);
  const other = join(directory, "other.pem");
  writeFileSync(other, third.cert + third.key);
  Object.assign(flags, { "tls-certificate": other, "tls-key": other });
  settings.reload();
  expect(data.keys()?.cert).toContain(third.cert);
  expect(told).toHaveLength(2);
  expect([control.keys(), control.expiresAt(), control.warnings()]).toEqual([
    ...[undefined, undefined, []],
  ]);
  const expiry = "pixelmill_tls_expiry_timestamp_seconds";
  expect(await valuesOf(expiry)).toEqual([["data", data.expiresAt()! / 1_000]]);
  expect(await valuesOf("pixelmill_tls_files_usable_ratio")).toEqual([["data", 1]]);
  makeUnreachable(other);
  jest.advanceTimersByTime(TLS_FILES_CHECK_MS);
  expect(data.isUsable()).toBe(false);
  expect(await valuesOf("pixelmill_tls_files_usable_ratio")).toEqual([["data", 0]]);
});

test("a certificate that ends within 14 days, or has ended, is a warning with the time", () => {
  write(newKeys());
  const { data } = open();
  const end = data.expiresAt()!;
  const warningsAt = (ms: number) => {
    setSystemTime(new Date(ms));
    return data.warnings();
  };
  const at = new Date(end).toISOString();
  const certificate = "The TLS certificate of the data plane";
  const [first, soon] = [end - 14 * 86_400_000 - 1, end - 14 * 86_400_000];
  expect(warningsAt(first)).toEqual([]);
  expect(warningsAt(soon)).toEqual([`${certificate} ends at ${at}`]);
  expect(warningsAt(end - 1)).toEqual([`${certificate} ends at ${at}`]);
  expect(warningsAt(end)).toEqual([`${certificate} has ended at ${at}`]);
  setSystemTime();
});

test.each([
  ["tls-certificate", "Settings tls.certificate and tls.key need each other"],
  ["tls-key", "Settings tls.certificate and tls.key need each other"],
  ["admin-tls-key", "Settings admin.tls.certificate and admin.tls.key need each other"],
  ["admin-tls-clients", "Setting admin.tls.clients needs admin.tls.certificate"],
  ["transformer-tls-key", "transformer.tls.certificate and transformer.tls.key need each other"],
])("the setting --%s alone ends a start with a sentence", (flag, message) => {
  expect(() => open({ [flag]: certificate })).toThrow(message);
});
