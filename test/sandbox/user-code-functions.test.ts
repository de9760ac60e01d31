import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import {
  entryFunctions,
  metadataFunction,
  metadataKeys,
  providedFunctions,
} from "../../src/console/texts/user-code-functions.ts";
import {
  type GuestLanguage,
  metadataKeys as keysOfSandbox,
  relayedMetadataKeys,
} from "../../src/sandbox/program.ts";
import { testWith } from "../counterpart.ts";
import { isQuickTier, longTierMissing } from "../tier.ts";
import { pythonSandbox, runner } from "./python/support.ts";
import { batch, PATIENCE_MS, program, shown, testSandbox } from "./support.ts";

setDefaultTimeout(PATIENCE_MS);

const sandbox = testSandbox();
const python = pythonSandbox();
afterAll(() => Promise.all([sandbox.close(), python.close()]));

const namesIn = (language: GuestLanguage) =>
  providedFunctions
    .filter((it) => it.signatures[language] !== undefined)
    .map(({ name }) => name)
    .sort();

/** Functions that every JavaScript realm has, named in lower case. */
const standard =
  `decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval isFinite isNaN
  parseFloat parseInt unescape`.split(/\s+/);

test("the listed functions are all that JavaScript code can call beyond the standard ones", async () => {
  const code = `export function transformEvent(event, metadata) {
    const names = Object.getOwnPropertyNames(globalThis);
    return {
      functions: names.filter((it) => /^[a-z]/.test(it) && typeof globalThis[it] === "function"),
      metadata: Object.keys(metadata(event)),
    };
  }`;
  const [[output]] = shown(await sandbox.run(program(code), batch({ messageId: "m" }))) as any;
  const own = output.functions.filter((it: string) => !standard.includes(it));
  expect(own.sort()).toEqual(namesIn("javascript"));
  expect(output.metadata).toEqual([...metadataKeys, ...relayedMetadataKeys]);
  expect([...metadataKeys]).toEqual([...keysOfSandbox]);
});

// A guest with an interpreter costs seconds of CPU.
testWith(longTierMissing)(
  "the listed functions are all that a Python transformation can call beyond the standard ones",
  async () => {
    const others = providedFunctions.filter((it) => it.signatures.python === undefined);
    const code = `
    def transformEvent(event, metadata):
        return {
            "own": [name for name, value in globals().items() if callable(value)],
            "log": callable(log),
            "unknown": [name for name in event["names"] if not known(name)],
        }

    def known(name):
        try:
            eval(name)
            return True
        except NameError:
            return False
  `;
    const event = { messageId: "m", names: others.map(({ name }) => name) };
    const [[output]] = (await runner(python)(code, event)) as any;
    const own = output.own.filter((it: string) => !["transformEvent", "known"].includes(it));
    expect([...own, ...(output.log ? ["log"] : [])].sort()).toEqual(namesIn("python"));
    expect(output.unknown).toEqual(event.names);
  },
);

test("code exports the listed entry functions, in both languages", async () => {
  for (const { name, signatures } of [...entryFunctions, metadataFunction]) {
    expect(Object.values(signatures).every((it) => it.startsWith(`${name}(`))).toBe(true);
  }
  for (const { name } of entryFunctions) {
    const code = `export const ${name} = (given) => given;`;
    expect(shown(await sandbox.run(program(code), batch({ n: 1 })))).toEqual([[{ n: 1 }]]);
    if (isQuickTier) continue;
    const inPython = `
      def ${name}(given, metadata):
          return given
    `;
    expect(await runner(python)(inPython, { n: 1 })).toEqual([[{ n: 1 }]]);
  }
});
