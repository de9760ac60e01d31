import { afterAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
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

test("a library of RudderStack's that does not exist here is refused with its name", async () => {
  const code =
    'import { JSEncrypt } from "@rs/encrypt/v1"; export const transformEvent = (it) => it;';
  const [outcome] = await sandbox.run(program(code), batch({ messageId: "m" }));
  expect(outcome).toMatchObject({
    error: {
      message:
        "Error: import from @rs/encrypt/v1 failed. Module not found. " +
        "RudderStack's libraries that exist here: @rs/hash/v1",
    },
  });
});
