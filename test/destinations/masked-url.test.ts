import { expect, test } from "bun:test";
import { isSecretName, maskedUrl } from "../../src/destinations/masked-url.ts";
import {
  acceptedCertificate,
  addedAudiences,
  audienceOfUrl,
} from "../../src/destinations/secret-audience.ts";

test.each([
  ["https://hooks.slack.com/services/T0/B0/x?a=1", "https://hooks.slack.com/***"],
  ["https://discord.com/api/webhooks/1/x", "https://discord.com/***"],
  ["https://ptb.discordapp.com/api/webhooks/1/x", "https://ptb.discordapp.com/***"],
  ["https://acme.webhook.office.com/webhookb2/x", "https://acme.webhook.office.com/***"],
  ["https://hooks.zapier.com/hooks/catch/1/x/", "https://hooks.zapier.com/***"],
  ["https://hook.make.com/x", "https://hook.make.com/***"],
  ["https://hook.eu1.make.com/x", "https://hook.eu1.make.com/***"],
  ["https://maker.ifttt.com/trigger/a/with/key/x", "https://maker.ifttt.com/***"],
  ["https://hooks.slack.com/?x=1", "https://hooks.slack.com/***"],
])("a URL that is a secret of its service shows its server alone: %s", (url, shown) => {
  expect(maskedUrl(url)).toBe(shown);
});

test.each([
  "https://hooks.slack.com/",
  "https://myhooks.slack.com/services/T0",
  "https://hooks.slack.com.evil.test/services/T0",
  "https://notdiscord.com/api",
  "https://make.com/x",
  "https://h.test/a/b?page=2&empty=",
  "https://h.test/a?token",
  "no URL",
])("a URL without secret parts is shown as it is: %s", (url) => {
  expect(maskedUrl(url)).toBe(url);
});

test.each([
  ["https://h.test/a?x=1&api_key=s3&y=%20#f?key=1", "https://h.test/a?x=1&api_key=***&y=%20"],
  ["https://h.test/a?x=1#f", "https://h.test/a?x=1"],
  ["https://h.test/a#token=s3?x", "https://h.test/a"],
  ["https://h.test/a?ac%63ess_token=s3", "https://h.test/a?ac%63ess_token=***"],
  ["https://h.test/?sig=s3&signature=s3&sigma=1", "https://h.test/?sig=***&signature=***&sigma=1"],
  ["https://h.test/?SECRET=s=3", "https://h.test/?SECRET=***"],
  ["https://h.test/?password=", "https://h.test/?password=***"],
])("of other URLs the values of secret parameters are masked: %s", (url, shown) => {
  expect(maskedUrl(url)).toBe(shown);
});

test("whether a URL is secret can be said for any service", () => {
  const url = "https://h.test:8443/a?token=s3";
  expect(maskedUrl(url, false)).toBe(url);
  expect(maskedUrl(url, true)).toBe("https://h.test:8443/***");
  expect(maskedUrl("https://h.test/", true)).toBe("https://h.test/");
  expect(maskedUrl("https://h.test", true)).toBe("https://h.test");
  expect(maskedUrl("https://h.test/#s3", true)).toBe("https://h.test/***");
  expect(maskedUrl("https://s:3@h.test/", true)).toBe("https://h.test/***");
  expect(maskedUrl("https://hooks.slack.com/services/T0", false)).toEndWith("/services/T0");
});

test("a name tells that its value is a secret, in upper and lower case", () => {
  const names = ["apiKey", "X-Token", "client_secret", "PASSWORD", "Signature", "name", "sig"];
  expect(names.filter(isSecretName)).toEqual(names.slice(0, 5));
});

test.each([
  ["http://h.test/a", { host: "h.test:80", isTls: false }],
  ["https://h.test/a", { host: "h.test:443", isTls: true }],
  ["https://h.test:8443", { host: "h.test:8443", isTls: true }],
])("the server of %s receives its secrets", (url, audience) => {
  expect(audienceOfUrl(url)).toEqual(audience);
  expect(() => audienceOfUrl("h.test")).toThrow();
});

test("an accepted certificate has a name and authorities, however they are written", () => {
  const accepted = acceptedCertificate({ tlsCa: " CA\n", tlsServerName: "DB.test" }, "h.test");
  expect(accepted).toBe(acceptedCertificate({ tlsCa: "CA" }, "db.TEST"));
  expect(accepted).not.toBe(acceptedCertificate({}, "db.test"));
  expect(accepted).not.toBe(acceptedCertificate({ tlsCa: "CA" }, "h.test"));
});

test("a secret has a new receiver where server, use, certificate or the loss of TLS differ", () => {
  const before = { host: "h:1", isTls: true, certificate: "c", use: "u" };
  const table: [after: typeof before, isAdded: boolean][] = [
    [before, false],
    [{ ...before, isTls: false }, true],
    [{ ...before, host: "h:2" }, true],
    [{ ...before, certificate: "d" }, true],
    [{ ...before, use: "v" }, true],
  ];
  for (const [after, isAdded] of table) {
    expect(addedAudiences([before], [after])).toEqual(isAdded ? [after] : []);
  }
  // One that had no TLS may get it.
  expect(addedAudiences([{ ...before, isTls: false }], [before])).toEqual([]);
  expect(addedAudiences([], [before])).toEqual([before]);
});
