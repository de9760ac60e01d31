import { describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { shownAnswer, shownReason } from "../../../src/destinations/answers/receiver-answer.ts";
import { maskAll, SecretMask } from "../../../src/destinations/answers/secret-mask.ts";
import { destinationKinds } from "../../../src/destinations/destination-kinds.ts";
import { secretsOfConfig, secretsOfRequest } from "../../../src/destinations/request-secrets.ts";
import { createEgress } from "../../../src/egress/egress.ts";

const SECRET = "s3cr3t/K+y=with\"odd'chars&0123456789";

/** The encodings in which receivers repeat what they were sent. */
const forms: Record<string, (secret: string) => string> = {
  "as it is": (secret) => secret,
  "in upper case": (secret) => secret.toUpperCase(),
  "as JSON": (secret) => JSON.stringify({ got: secret }),
  "as JSON with escaped slashes": (secret) => JSON.stringify(secret).replaceAll("/", "\\/"),
  "percent-encoded": (secret) => encodeURIComponent(secret),
  "as a form": (secret) => new URLSearchParams({ a: secret }).toString(),
  "as HTML": (secret) => Bun.escapeHTML(secret),
  "as base64": (secret) => btoa(secret),
  "as base64 behind a user": (secret) => btoa(`user:${secret}`),
  "as base64url behind a user": (secret) => Buffer.from(`u1:${secret}`).toString("base64url"),
  "cut after 20 characters": (secret) => secret.slice(0, 20),
};

/** A secret of 65,000 characters, which looks random. */
function longSecret(n: number): string {
  const hash = (part: number) => Bun.hash(`${n} ${part}`).toString(36).padStart(13, "0");
  return Array.from({ length: 5_000 }, (_, part) => hash(part)).join("");
}

describe("a secret that a receiver repeats is masked", () => {
  test.each(Object.entries(forms))("%s", (_, formOf) => {
    const form = formOf(SECRET);
    const shown = new SecretMask([SECRET]).mask(`Invalid key ${form} in request`);
    expect(shown).toContain("***");
    for (let at = 0; at + 8 <= SECRET.length; at++) {
      expect(shown.toLowerCase()).not.toContain(formOf(SECRET.slice(at, at + 8)).toLowerCase());
    }
    expect(shown).toStartWith("Invalid key");
    expect(shown).toEndWith("in request");
  });

  test.each([
    ["of Go", false, /[<>&]/g],
    ["of Python", false, /[^ -~]/g],
    ["of PHP", true, /[^ -~]/g],
  ])("in JSON %s, which escapes some characters by their codes", (_, escapesSlashes, units) => {
    const secret = "pä<s>&/ö😀";
    const json = JSON.stringify({ got: secret }).replaceAll("/", escapesSlashes ? "\\/" : "/");
    const code = (it: string) => `\\u${it.charCodeAt(0).toString(16).padStart(4, "0")}`;
    expect(new SecretMask([secret]).mask(json.replace(units, code))).toBe('{"got":"***"}');
  });

  test.each(["?", ">"])("in base64 and base64url, after any other bytes: %s", (character) => {
    const secret = character.repeat(12);
    const mask = new SecretMask([secret]);
    for (const encoding of ["base64", "base64url"] as const) {
      for (const before of ["", "x", "xx", "xxx"]) {
        const shown = mask.mask(Buffer.from(`${before}${secret}`).toString(encoding));
        expect(shown).toMatch(/^[\w+/-]{0,4}\*\*\*\w?=*$/);
      }
    }
  });

  test("in parts of eight characters, and not in shorter ones", () => {
    const secret = "0a1b2c3d4e5f6g7h8i";
    const mask = new SecretMask([secret]);
    for (let at = 0; at + 8 <= secret.length; at++) {
      expect(mask.mask(`<${secret.slice(at, at + 8)}>`)).toBe("<***>");
      const short = `<${secret.slice(at, at + 7)}>`;
      expect(mask.mask(short)).toBe(short);
    }
    expect(mask.mask(`${secret}${secret}`)).toBe("***");
    expect(mask.mask(`${secret} ${secret}`)).toBe("*** ***");
    expect(mask.mask(`a${secret.slice(0, 9)}${secret.slice(2, 11)}b`)).toBe("a***b");
  });

  test("in upper and lower case, by the letters of ASCII alone", () => {
    expect(new SecretMask(["AZazAZaz"]).mask("azAZAZAZ AZAZazaz")).toBe("*** ***");
    for (const [secret, other] of [
      ["@".repeat(9), "`".repeat(9)],
      ["[".repeat(9), "{".repeat(9)],
    ] as const) {
      expect(new SecretMask([secret]).mask(other)).toBe(other);
      expect(new SecretMask([other]).mask(secret)).toBe(secret);
    }
  });

  test("short ones of letters of any script as words alone", () => {
    const mask = new SecretMask(["é1", "a.b", "word"]);
    expect(mask.mask("é1 xé1 é12 (é1) a.b axb a.bc swords")).toBe(
      "*** xé1 é12 (***) *** axb a.bc s***s",
    );
  });

  test("short ones too, and those of three characters as words alone", () => {
    const mask = new SecretMask(["pw1", "hunt", "hunter"]);
    expect(mask.mask("pw1 pw12 hunt hunter hunters")).toBe("*** pw12 *** *** ***s");
    expect(new SecretMask([""]).mask("text")).toBe("text");
  });

  test("of several masks as of one, where a secret begins or ends within another", () => {
    const masks = (...secrets: string[]) => secrets.map((it) => new SecretMask([it]));
    expect(maskAll("root12 root", masks("root", "root12"))).toBe("*** ***");
    expect(maskAll("<first-second>", masks("first-sec", "-second"))).toBe("<***>");
    expect(maskAll("<root>", [])).toBe("<root>");
  });

  test("in encodings too, while all together are not too long", () => {
    const long = Array.from({ length: 16 }, (_, n) => longSecret(n));
    const shown = new SecretMask([...long, SECRET]).mask(`${btoa(SECRET)} ${btoa(long[15]!)}`);
    expect(shown).toStartWith("***");
    expect(shown.length).toBeGreaterThan(65_000);
  });

  test("many long ones too, of which few runs are stored", () => {
    const stored = spyOn(Map.prototype, "set");
    const long = Array.from({ length: 40 }, (_, n) => longSecret(n));
    const mask = new SecretMask([...long, SECRET]);
    const count = stored.mock.calls.length;
    stored.mockRestore();
    expect(count).toBeLessThan(1_000_000);
    expect(mask.mask(`got ${SECRET} and ${SECRET.slice(9)}.`)).toBe("got *** and ***.");
    for (const secret of long) {
      for (const at of [0, 12_345, secret.length - 120]) {
        const piece = secret.slice(at, at + 120);
        const shown = mask.mask(`${"=".repeat(60)}${piece}${"=".repeat(60)}`);
        expect(shown).toMatch(/^=+\*\*\*=+$/);
      }
    }
  });

  test("whatever stands around it, and texts without it stay as they are", () => {
    const secrets = fc.array(fc.string({ minLength: 8, maxLength: 40 }), { maxLength: 4 });
    const property = fc.property(secrets, fc.string(), fc.string(), (all, before, after) => {
      const mask = new SecretMask(all);
      for (const secret of all) {
        expect(mask.mask(before + secret + after)).not.toContain(secret);
      }
      expect(new SecretMask([]).mask(before + after)).toBe(before + after);
    });
    fc.assert(property, { numRuns: 200, examples: [[["********"], "", ""]] });
  });
});

const egress = createEgress({ allow: [] });
const kinds = destinationKinds({ directory: "unused", egress });

/** Sets a text at a path such as `oauth.clientSecret`, or `headers.to` of a list. */
function withText(config: Record<string, unknown>, path: string, isList: boolean, text: string) {
  const [key = "", inner] = path.split(".");
  const item = { from: "x-api-key", [inner ?? ""]: text };
  return { ...config, [key]: inner === undefined ? text : isList ? [item] : item };
}

test.each([...kinds.keys()])("every secret of a config is masked: %s", (name) => {
  const kind = kinds.get(name)!;
  for (const { path } of kind.secretKeys) {
    const isList = kind.configSchema.properties[path.split(".")[0]!].type === "array";
    const config = withText({}, path, isList, SECRET);
    const mask = new SecretMask(secretsOfConfig(kind, config));
    expect([path, mask.mask(`echo ${SECRET}`)]).toEqual([path, "echo ***"]);
  }
  for (const { path } of kind.maskedKeys ?? []) {
    const url = "https://me:pass-word-1@example.com/v1/T0AB12CD34/hook?token=abcd-efgh-ijkl";
    const config = withText({}, path, false, url);
    const mask = new SecretMask(secretsOfConfig(kind, config));
    expect([path, mask.mask("pass-word-1 T0AB12CD34 abcd-efgh-ijkl hook")]).toEqual([
      path,
      "*** *** *** hook",
    ]);
  }
});

test("the credentials of a request's headers are masked, and its content type is not", () => {
  const headers = {
    "content-type": "application/json",
    authorization: `Basic ${btoa("user:correct-horse-battery")}`,
    "x-tenant": "tenant-of-many-words",
  };
  const mask = new SecretMask(secretsOfRequest({ headers, url: "https://example.com/hook" }));
  expect(mask.mask("application/json correct-horse-battery tenant-of-many-words hook")).toBe(
    "application/json *** *** hook",
  );
});

describe("the answer of a receiver", () => {
  const none = new SecretMask([]);

  test("is cut at 2 KB, whatever it contains", () => {
    const text = fc.oneof(fc.string({ unit: "binary", size: "large" }), fc.string());
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 5_000 }),
      text.map((it) => it.repeat(50)),
    );
    fc.assert(
      fc.property(body, (it) => {
        const shown = shownAnswer({ status: 400, body: it }, none);
        expect(Buffer.byteLength(shown.body ?? "")).toBeLessThanOrEqual(2_048);
        expect(Buffer.from(shown.body ?? "").toString()).toBe(shown.body ?? "");
        expect(shown.body ?? "").not.toMatch(/[^\P{Cc}\n\t]|\p{Bidi_Control}/u);
      }),
    );
  });

  test("has no part of a secret that stands where it is cut", () => {
    const secret = "sk_live_0123456789abcdefghij";
    for (let at = 2_048 - 27; at < 2_048; at++) {
      const body = Buffer.from(`${" ".repeat(at)}${secret}${secret}${secret}`);
      const shown = shownAnswer({ body }, new SecretMask([secret]));
      expect(shown).toEqual({ body: `${" ".repeat(at)}***`.slice(0, 2_048), isCut: true });
    }
  });

  test("has no beginning of a secret where it is cut after many masks", () => {
    const secret = "sk_live_0123456789abcdefghij";
    const mask = new SecretMask([secret]);
    for (let before = 0; before < secret.length; before++) {
      const text = " ".repeat(before) + `${secret} `.repeat(100);
      const shown = `${shownAnswer({ body: Buffer.from(text) }, mask).body}${shownReason(text, mask)}`;
      expect(shown).not.toContain("s");
      expect(shown).toContain("***");
    }
  });

  test("shows control characters and invalid UTF-8 as replacement characters", () => {
    const body = Buffer.concat([Buffer.from("a\0b\x1b[31m\u202ec\r\n\td"), Buffer.from([0xff])]);
    expect(shownAnswer({ body }, none)).toEqual({ body: "a\ufffdb\ufffd[31m\ufffdc\n\td\ufffd" });
  });

  test("has the headers by which an operator finds the cause of a refusal", () => {
    const names = [
      ...["content-type", "server", "via", "allow", "location", "retry-after", "www-authenticate"],
      ...["x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid", "x-amz-request-id"],
      ...["x-amz-bucket-region", "x-clickhouse-exception-code", "cf-ray"],
    ];
    const headers = Object.fromEntries(names.map((name) => [name, `of ${name}`]));
    const more = { ...headers, "set-cookie": "c", date: "d" };
    expect(shownAnswer({ status: 503, headers: more, body: "" }, none).headers).toEqual(headers);
  });

  test("has chosen headers alone, and no compressed body", () => {
    const headers = { "content-encoding": "gzip", "x-request-id": "r".repeat(500), cookie: "c" };
    expect(shownAnswer({ status: 503, headers, body: Buffer.from("zip") }, none)).toEqual({
      status: 503,
      headers: { "x-request-id": "r".repeat(256) },
    });
  });
});
