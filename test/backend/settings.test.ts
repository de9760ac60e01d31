import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { auditBoundsOf, checkOf, itemsMaxOf, retentionBounds } from "../../src/backend/backend.ts";
import { brokerSettings } from "../../src/backend/broker-settings.ts";
import { mailServerOf } from "../../src/backend/mail-server.ts";
import { addServerSettings } from "../../src/backend/reloadable/start-api.ts";
import { limitedItems } from "../../src/catalog/management/item-limits.ts";
import { LiveSettings } from "../../src/settings/live-settings.ts";
import { readSettings } from "../../src/settings/reader.ts";
import { quiet } from "../log/support.ts";

const directory = mkdtempSync(join(tmpdir(), "pixelmill-backend-"));
afterAll(() => rmSync(directory, { recursive: true }));
const ca = join(directory, "ca.pem");
writeFileSync(ca, "certificate");

const configOf = (flags: Record<string, string>) => readSettings(flags, {}).config;

describe("the brokers of the settings", () => {
  const broker = { "cluster-kafka": "127.0.0.1:9092" };
  const signIn = { "cluster-user": "me", "cluster-password": "secret" };
  const settingsOf = (flags: Record<string, string>) =>
    brokerSettings(configOf({ ...broker, ...flags }));

  test("are reached without TLS and without a name", () => {
    expect(settingsOf({})).toEqual({ brokers: ["127.0.0.1:9092"] });
  });

  test("are reached by TLS, with the authorities of the system or of a file", () => {
    expect(settingsOf({ "cluster-tls": "true" })).toMatchObject({ tls: {} });
    const withFile = settingsOf({ "cluster-tls": "true", "cluster-ca": ca });
    expect(withFile.tls).toEqual({ ca: "certificate" });
  });

  test("learn the name and the password", () => {
    expect(settingsOf({ "cluster-sasl": "PLAIN", ...signIn }).sasl).toEqual({
      mechanism: "PLAIN",
      user: "me",
      password: "secret",
    });
  });

  const contradictions: [flags: Record<string, string>, message: string][] = [
    [{ "cluster-ca": ca }, "Setting cluster.ca needs cluster.tls"],
    [signIn, "Settings cluster.user and cluster.password need cluster.sasl"],
    [{ "cluster-user": "me" }, "Settings cluster.user and cluster.password need cluster.sasl"],
    [{ "cluster-password": "a" }, "Settings cluster.user and cluster.password need cluster.sasl"],
    [{ "cluster-sasl": "PLAIN" }, "cluster.sasl needs cluster.user and cluster.password"],
    [{ "cluster-sasl": "PLAIN", "cluster-user": "me" }, "cluster.sasl needs cluster.user"],
    [{ "cluster-sasl": "PLAIN", "cluster-password": "a" }, "cluster.sasl needs cluster.user"],
  ];
  test.each(contradictions)("contradict each other: %j", (flags, message) => {
    expect(() => settingsOf(flags)).toThrow(message);
  });
});

describe("the mail server of the settings", () => {
  const server = { "smtp-server": "mail.example:587", "smtp-from": "me@example.com" };
  const mailOf = (flags: Record<string, string>) => mailServerOf(configOf(flags));

  test("is absent without settings", () => {
    expect(mailOf({})).toBeUndefined();
  });

  test("has a name, a port and a sender", () => {
    expect(mailOf(server)).toEqual({
      host: "mail.example",
      port: 587,
      from: "me@example.com",
      tls: configOf({})["smtp.tls"],
    });
  });

  test("may be an IPv6 address in brackets", () => {
    expect(mailOf({ ...server, "smtp-server": "[::1]:25" })).toMatchObject({
      host: "::1",
      port: 25,
    });
  });

  test("is signed in to, and is trusted by a file", () => {
    const flags = { ...server, "smtp-user": "me", "smtp-password": "secret", "smtp-ca": ca };
    expect(mailOf(flags)).toMatchObject({ user: "me", password: "secret", ca: "certificate" });
  });

  const needServer = "smtp.from, smtp.user, smtp.password and smtp.ca need smtp.server";
  const contradictions: [flags: Record<string, string>, message: string][] = [
    [{ "smtp-from": "me@example.com" }, needServer],
    [{ "smtp-user": "me" }, needServer],
    [{ "smtp-password": "secret" }, needServer],
    [{ "smtp-ca": ca }, needServer],
    [{ "smtp-server": "mail.example:25" }, "Setting smtp.server needs smtp.from"],
    [{ ...server, "smtp-user": "me" }, "smtp.user and smtp.password need each other"],
    [{ ...server, "smtp-password": "secret" }, "smtp.user and smtp.password need each other"],
  ];
  test.each(contradictions)("contradicts itself: %j", (flags, message) => {
    expect(() => mailOf(flags)).toThrow(message);
  });
});

test("each limit of a workspace has its setting", () => {
  const flags = Object.fromEntries(
    limitedItems.map((items, index) => [`workspace-${items}`, String(100 + index)]),
  );
  const expected = limitedItems.map((items, index) => [items, 100 + index]);
  expect(itemsMaxOf(configOf(flags))).toEqual(Object.fromEntries(expected));
});

test("retention is set in seconds and bytes", () => {
  const flags = { "events-retention-age": "7200", "events-retention-bytes": "5000000000" };
  const config = configOf({ ...flags, "audit-retention": "10800" });
  expect(retentionBounds(config)).toEqual({
    ageMsMax: 7_200_000,
    bytesMax: 5_000_000_000,
  });
  expect(auditBoundsOf(config)).toEqual({ ageMs: 10_800_000 });
});

test("a check without trouble is ok, and one with trouble has it as message", () => {
  expect(checkOf(undefined)).toEqual({ ok: true });
  expect(checkOf("The disk is full")).toEqual({ ok: false, message: "The disk is full" });
});

test("a reload changes the log level, the limits of workspaces and the rate of requests", () => {
  const flags: Record<string, string> = {};
  const settings = new LiveSettings(() => readSettings(flags, {}));
  const taken: Record<string, unknown> = {};
  const logger = Object.assign(Object.create(quiet), { level: "info" });
  const catalog = {
    setItemsMax(max: unknown) {
      taken.max = max;
    },
  };
  const api = {
    setRequestsPerSecondMax(rate: number) {
      taken.rate = rate;
    },
  };
  addServerSettings({ settings, logger } as never, { catalog } as never, api as never);
  Object.assign(flags, { "log-level": "debug", "admin-rate": "7", "workspace-sources": "3" });
  expect(settings.reload().needRestart).toEqual([]);
  expect(logger.level).toBe("debug");
  expect(taken).toMatchObject({ rate: 7, max: { sources: 3 } });
});
