import { afterAll, beforeAll, expect } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkCertificates } from "../../src/check/settings.ts";
import { loadConfig } from "../../src/settings/reader.ts";
import { missingPrograms, testWith } from "../counterpart.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";

const missing = missingPrograms("openssl");
const directory = temporaryDirectory();
const at = (name: string) => join(directory, name);

beforeAll(() => {
  if (missing !== undefined) return;
  const make =
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=a";
  const files = (name: string) => ["-keyout", at(`${name}.key`), "-out", at(`${name}.crt`)];
  for (const name of ["good", "other"]) {
    Bun.spawnSync([...make.split(" "), "-days", "9", ...files(name)]);
  }
});
afterAll(() => removeDirectory(directory));

testWith(missing)("files of TLS that a server could not use fail", () => {
  const check = (certificate: string, key: string) =>
    [
      ...checkCertificates(
        loadConfig({ "tls-certificate": at(certificate), "tls-key": at(key) }, {}),
      ),
    ].map(({ state, detail }) => [state, detail.replace(/ at \S+$/, "")]);
  expect(check("good.crt", "good.key")).toEqual([["ok", "the certificate ends"]]);
  expect(check("good.crt", "other.key")).toEqual([
    ["fails", expect.stringContaining("do not belong together")],
  ]);
  const pem = readFileSync(at("good.crt"), "utf8");
  for (const [content, reason] of [
    ["no PEM", "expected PEM, which begins with -----BEGIN"],
    [pem.slice(0, 200), "expected PEM that is whole, got one without its -----END line"],
    [pem.replaceAll("M", "!"), "expected PEM, got other characters between its lines"],
    [
      `${pem}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
      "expected PEM of this kind, got other bytes in it",
    ],
  ]) {
    writeFileSync(at("bad.crt"), content!);
    expect(check("bad.crt", "good.key")).toEqual([["fails", expect.stringContaining(reason!)]]);
  }
  expect(check("none.crt", "good.key")).toMatchObject([["fails", expect.any(String)]]);
  expect([...checkCertificates(loadConfig({}, {}))]).toEqual([]);
});
