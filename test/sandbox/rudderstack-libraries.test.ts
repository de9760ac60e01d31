import { afterAll, describe, expect, test } from "bun:test";
import {
  constants,
  createHash,
  generateKeyPairSync,
  privateDecrypt,
  publicEncrypt,
} from "node:crypto";
import { batch, program, shown, testSandbox } from "./support.ts";

const sandbox = testSandbox();
afterAll(() => sandbox.close());

test("@rs/hash/v1 has the hashes of the standards, of texts of all lengths and characters", async () => {
  const code = `import { sha256, md5, cyrb53 } from "@rs/hash/v1";
    export function transformEvent({ text }) {
      return { text, sha256: sha256(text), md5: md5(text), cyrb53: cyrb53(text) };
    }`;
  const lengths = [0, 1, 54, 55, 56, 63, 64, 119, 120, 500];
  const texts = ["a", "é", "😀"].flatMap((unit) => lengths.map((length) => unit.repeat(length)));
  const outputs = await sandbox.run(program(code), batch(...texts.map((text) => ({ text }))));
  for (const [at, outcome] of shown(outputs).entries()) {
    const [output] = outcome as any;
    const digest = (name: string) => createHash(name).update(texts[at]!).digest("hex");
    expect(output).toMatchObject({ sha256: digest("sha256"), md5: digest("md5") });
  }
  const [[known]] = shown(await sandbox.run(program(code), batch({ text: "12345" }))) as any;
  expect(known.cyrb53).toBe(2940901498341397);
});

test("@rs/hash/v1 takes a lone half of a character for U+FFFD", async () => {
  const code = `import { md5 } from "@rs/hash/v1";
    export const transformEvent = () => ({ same: md5("a\\ud800b") === md5("a\\ufffdb") });`;
  expect(shown(await sandbox.run(program(code), batch({})))).toEqual([[{ same: true }]]);
});

describe("@rs/encrypt/v1", () => {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = {
    spki: publicKey.export({ type: "spki", format: "pem" }).toString(),
    ofPublic: publicKey.export({ type: "pkcs1", format: "pem" }).toString(),
    pkcs8: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    ofPrivate: privateKey.export({ type: "pkcs1", format: "pem" }).toString(),
  };
  const code = `import { JSEncrypt } from "@rs/encrypt/v1";
    export function transformEvent({ key, call, text }) {
      const crypt = new JSEncrypt();
      if (key !== undefined) crypt.setKey(key);
      return { result: crypt[call](text) };
    }`;
  const texts = ["", "user@example.com", "é😀".repeat(40), "x".repeat(245)];

  async function call(name: "encrypt" | "decrypt", inputs: { key?: string; text: string }[]) {
    const events = inputs.map((it) => ({ ...it, call: name }));
    const outputs = shown(await sandbox.run(program(code), batch(...events))) as any;
    return outputs.map(([output]: any) => output.result);
  }

  test("encrypts so that a private key of any form decrypts it, and never twice alike", async () => {
    const inputs = [pem.spki, pem.ofPublic, pem.pkcs8, pem.ofPrivate].map((key) => ({
      key,
      text: "user@example.com",
    }));
    const results = await call("encrypt", [
      ...inputs,
      ...texts.map((text) => ({ key: pem.spki, text })),
    ]);
    expect(new Set(results).size).toBe(results.length);
    const open = (text: string) => {
      const padding = constants.RSA_NO_PADDING;
      const block = privateDecrypt({ key: privateKey, padding }, Buffer.from(text, "base64"));
      const end = block.indexOf(0, 2);
      expect([block[0], block[1], end >= 10]).toEqual([0, 2, true]);
      return block.subarray(end + 1).toString("utf8");
    };
    expect(results.map(open)).toEqual([...inputs.map(({ text }) => text), ...texts]);
  });

  test("decrypts what others encrypted, with a private key of any form", async () => {
    const padding = constants.RSA_PKCS1_PADDING;
    const seal = (text: string) =>
      publicEncrypt({ key: publicKey, padding }, Buffer.from(text)).toString("base64");
    const keys = [pem.pkcs8, pem.ofPrivate];
    const inputs = keys.flatMap((key) => texts.map((text) => ({ key, text: seal(text) })));
    expect(await call("decrypt", inputs)).toEqual([...texts, ...texts]);
  });

  test("answers false without a fitting key and for a text that is too long, null for another text", async () => {
    const text = "x";
    const wrong = [undefined, "", "no key", pem.spki.slice(0, 200), pem.spki.replace("M", "!")];
    const keys = wrong.map((key) => ({ ...(key !== undefined && { key }), text }));
    const long = { key: pem.spki, text: "x".repeat(246) };
    expect(await call("encrypt", [...keys, long])).toEqual(Array(wrong.length + 1).fill(false));
    expect(await call("decrypt", [...keys, { key: pem.spki, text }])).toEqual(
      Array(wrong.length + 1).fill(false),
    );
    const broken = ["", "x", "!", Buffer.alloc(256, 7).toString("base64")];
    const inputs = broken.map((it) => ({ key: pem.pkcs8, text: it }));
    expect(await call("decrypt", inputs)).toEqual(broken.map(() => null));
  });
});

test("@rs/localizeAppleDeviceModel/v1 names devices by the identifiers of Apple", async () => {
  const code = `import { getLocalizedDeviceModel } from "@rs/localizeAppleDeviceModel/v1";
    export const transformEvent = (event) => ({ name: getLocalizedDeviceModel(event) ?? "none" });`;
  const models = {
    "iPhone13,1": "iPhone 12 Mini",
    "iPhone 13,1": "iPhone 12 Mini",
    "iPad3,6": "iPad (4th generation)",
    "iPod9,1": "iPod touch (7th generation)",
    "AppleTV5,3": "Apple TV HD",
    "iPhone99,9": "none",
    "Pixel 8": "none",
    constructor: "none",
  };
  const events: object[] = Object.keys(models).map((model) => ({ context: { device: { model } } }));
  events.push({}, { context: null }, { context: { device: { model: 7 } } });
  const outputs = shown(await sandbox.run(program(code), batch(...events)));
  const expected = [...Object.values(models), "none", "none", "none"];
  expect(outputs).toEqual(expected.map((name) => [{ name }]));
});

test("@rs/urlParser/v1 has the parameters of a query, as the URL standard says", async () => {
  const code = `import url, { URLSearchParams } from "@rs/urlParser/v1";
    export function transformEvent({ init }) {
      const own = new url.URLSearchParams(init);
      const first = [...own.keys()][0] ?? "";
      const changed = new URLSearchParams(init);
      changed.set(first, "s e t");
      changed.append("a", "é&=+ ~!*'()");
      changed.delete("gone");
      changed.sort();
      return { text: own.toString(), pairs: [...own], get: own.get(first) ?? "none",
        all: own.getAll(first), has: own.has(first), size: own.size, changed: String(changed) };
    }`;
  const inits = [
    "",
    "?a=1&b=2&a=3",
    "a",
    "=x&&y=",
    "a=b=c&q=%20+%2B&gone=1",
    "%E2%82%AC=%F0%9F%98%80&bad=%&worse=%zz&cut=%E2",
    "\ud800=x",
    "bytes=%FF%41%C3%A9",
    // Characters that are cut off, too long, halves of others or too large.
    "cut=%E2%82A%E2%82&%F0%9F%98=%F0%9F&long=%C0%80%E0%80%80%F0%80%80%80",
    "half=%ED%A0%80%ED%9F%BF&large=%F4%90%80%80%F4%8F%BF%BF%F8%88&tail=%80%BF%F1%80%E1%BF%C3",
  ];
  const expected = inits.map((init) => {
    const own = new URLSearchParams(init);
    const first = [...own.keys()][0] ?? "";
    const changed = new URLSearchParams(init);
    changed.set(first, "s e t");
    changed.append("a", "é&=+ ~!*'()");
    changed.delete("gone");
    changed.sort();
    const found = { get: own.get(first) ?? "none", all: own.getAll(first), has: own.has(first) };
    const whole = { text: own.toString(), pairs: [...own], size: own.size };
    return [{ ...whole, ...found, changed: String(changed) }];
  });
  const outputs = await sandbox.run(program(code), batch(...inits.map((init) => ({ init }))));
  expect(shown(outputs)).toEqual(expected as never);
});

describe("@rs/userAgentParser/v1", () => {
  const code = `import { UAParser } from "@rs/userAgentParser/v1";
    export const transformEvent = ({ ua }) => new UAParser().setUA(ua).getResult();`;
  const webKit = "AppleWebKit/537.36 (KHTML, like Gecko)";
  const cases: Record<string, string> = {
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webKit} Chrome/126.0.0.0 Safari/537.36`]:
      "Chrome 126.0.0.0 126 | Blink 126.0.0.0 | Windows 10 | - - - | amd64",
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webKit} Chrome/126.0.0.0 Safari/537.36 Edg/126.0.2592.87`]:
      "Edge 126.0.2592.87 126 | Blink 126.0.0.0 | Windows 10 | - - - | amd64",
    [`Mozilla/5.0 (X11; Linux x86_64) ${webKit} Chrome/125.0.0.0 Safari/537.36 OPR/111.0.0.0`]:
      "Opera 111.0.0.0 111 | Blink 125.0.0.0 | Linux - | - - - | amd64",
    "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0":
      "Firefox 127.0 127 | Gecko 127.0 | Ubuntu - | - - - | amd64",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15":
      "Safari 17.5 17 | WebKit 605.1.15 | Mac OS 10.15.7 | Apple Macintosh - | -",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1":
      "Mobile Safari 17.5 17 | WebKit 605.1.15 | iOS 17.5.1 | Apple iPhone mobile | -",
    "Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/126.0.6478.54 Mobile/15E148 Safari/604.1":
      "Chrome 126.0.6478.54 126 | WebKit 605.1.15 | iOS 16.6 | Apple iPad tablet | -",
    [`Mozilla/5.0 (Linux; Android 14; Pixel 8 Pro) ${webKit} Chrome/126.0.0.0 Mobile Safari/537.36`]:
      "Chrome 126.0.0.0 126 | Blink 126.0.0.0 | Android 14 | Google Pixel 8 Pro mobile | -",
    [`Mozilla/5.0 (Linux; Android 13; SM-S911B) ${webKit} SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile Safari/537.36`]:
      "Samsung Browser 25.0 25 | Blink 121.0.0.0 | Android 13 | Samsung SM-S911B mobile | -",
    [`Mozilla/5.0 (Linux; Android 12; SM-T870) ${webKit} Chrome/120.0.0.0 Safari/537.36`]:
      "Chrome 120.0.0.0 120 | Blink 120.0.0.0 | Android 12 | Samsung SM-T870 tablet | -",
    [`Mozilla/5.0 (X11; Linux x86_64) ${webKit} HeadlessChrome/126.0.0.0 Safari/537.36`]:
      "Chrome Headless 126.0.0.0 126 | Blink 126.0.0.0 | Linux - | - - - | amd64",
    "Mozilla/5.0 (Windows NT 6.1; WOW64; Trident/7.0; rv:11.0) like Gecko":
      "IE 11.0 11 | Trident 7.0 | Windows 7 | - - - | amd64",
    [`Mozilla/5.0 (X11; CrOS aarch64 15633.69.0) ${webKit} Chrome/119.0.0.0 Safari/537.36`]:
      "Chrome 119.0.0.0 119 | Blink 119.0.0.0 | Chromium OS 15633.69.0 | - - - | arm64",
    "curl/8.5.0": "- - - | - - | - - | - - - | -",
    "": "- - - | - - | - - | - - - | -",
  };

  test("finds browser, engine, system, device and processor of common user agents", async () => {
    const events = Object.keys(cases).map((ua) => ({ ua }));
    const outputs = shown(await sandbox.run(program(code), batch(...events))) as any;
    const shownOf = ({ browser: b, engine: e, os, device: d, cpu }: any) =>
      [
        [b.name, b.version, b.major],
        [e.name, e.version],
        [os.name, os.version],
        [d.vendor, d.model, d.type],
        [cpu.architecture],
      ]
        .map((part) => part.map((it) => it ?? "-").join(" "))
        .join(" | ");
    expect(Object.fromEntries(outputs.map(([it]: any) => [it.ua, shownOf(it)]))).toEqual(cases);
  });

  test("reads no more than 500 characters, whatever they are", async () => {
    const units = ["android ", "opera mobi ", "samsung ", "version/1 ", "%".repeat(7)];
    const events = units.map((unit) => ({ ua: unit.repeat(20_000) }));
    const outputs = shown(await sandbox.run(program(code), batch(...events))) as any;
    expect(outputs.map(([it]: any) => it.ua.length)).toEqual(units.map(() => 500));
  });
});

test("a library of RudderStack's that does not exist here is refused with its name", async () => {
  const code = 'import { x } from "@rs/crypto/v1"; export const transformEvent = (it) => it;';
  const [outcome] = await sandbox.run(program(code), batch({ messageId: "m" }));
  expect(outcome).toMatchObject({
    error: {
      message:
        "Error: import from @rs/crypto/v1 failed. Module not found. " +
        "RudderStack's libraries that exist here: @rs/encrypt/v1, @rs/hash/v1, " +
        "@rs/localizeAppleDeviceModel/v1, @rs/urlParser/v1, @rs/userAgentParser/v1",
    },
  });
});
