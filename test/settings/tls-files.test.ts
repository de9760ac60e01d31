import { afterAll, beforeAll, describe, expect } from "bun:test";
import { X509Certificate } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readTlsKeys } from "../../src/settings/files/tls-files.ts";
import { missingPrograms, testWith } from "../counterpart.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";
import { newKeys } from "../http/new-keys.ts";

const directory = temporaryDirectory();
const at = (name: string) => join(directory, name);
afterAll(() => removeDirectory(directory));

const missing = missingPrograms("openssl");
let keys: ReturnType<typeof newKeys>;
beforeAll(() => {
  if (missing !== undefined) return;
  keys = newKeys();
  const encrypt = ["openssl", "pkcs8", "-topk8", "-passout", "pass:secret"];
  const encrypted = Bun.spawnSync(encrypt, { stdin: Buffer.from(keys.key) });
  writeFileSync(at("encrypted.key"), encrypted.stdout);
  writeFileSync(at("good.crt"), keys.cert);
  writeFileSync(at("good.key"), keys.key);
  writeFileSync(at("other.key"), newKeys().key);
  writeFileSync(at("text"), "no PEM");
});

const read = (certificate: string, key: string, clients?: string) =>
  readTlsKeys({
    ...{ certificate: at(certificate), key: at(key), prefix: "admin.tls." },
    clients: clients && at(clients),
  });

testWith(missing)("the files of TLS are read with the time at which the certificate ends", () => {
  const expiresAt = new X509Certificate(keys.cert).validToDate.getTime();
  expect(read("good.crt", "good.key")).toEqual({ keys, expiresAt });
  expect(read("good.crt", "good.key", "good.crt")).toEqual({
    keys: { ...keys, ca: keys.cert },
    expiresAt,
  });
});

describe("files of TLS that a server cannot use", () => {
  const pem = "expected PEM, which begins with -----BEGIN";
  const cases: [files: [string, string, string?], message: string][] = [
    [["text", "good.key"], `Cannot use the certificate ${at("text")}: ${pem}`],
    [["good.crt", "text"], `Cannot use the private key ${at("text")}: ${pem}`],
    [
      ["good.crt", "encrypted.key"],
      `Cannot use the private key ${at("encrypted.key")}: expected a key that is not encrypted`,
    ],
    [
      ["good.crt", "other.key"],
      `certificate ${at("good.crt")} with the private key ${at("other.key")}: they do not belong together`,
    ],
    [["good.crt", "good.key", "text"], `Cannot use the authorities ${at("text")}: ${pem}`],
    [["none", "good.key"], `Cannot read the file ${at("none")} of admin.tls.certificate: `],
    [["good.crt", "none"], `Cannot read the file ${at("none")} of admin.tls.key: `],
    [["good.crt", "good.key", "none"], `the file ${at("none")} of admin.tls.clients: `],
  ];
  for (const [files, message] of cases) {
    testWith(missing)(`are named with the reason: ${files.join(", ")}`, () => {
      expect(() => read(...files)).toThrow(message);
    });
  }
});
