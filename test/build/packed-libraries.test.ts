import { expect, test } from "bun:test";
import type { BunPlugin } from "bun";
import { embedPackedLibraries } from "../../src/build/packed-libraries.ts";

const KAFKA = "./node_modules/@platformatic/kafka/dist";

/** Imports of packed libraries, with the part that each one gets. */
const parts = [
  ["@platformatic/kafka", "kafka", "clients"],
  [`${KAFKA}/protocol/index.js`, "kafka", "protocol"],
  [`${KAFKA}/apis/index.js`, "kafka", "apis"],
  [`${KAFKA}/errors.js`, "kafka", "errors"],
  [`${KAFKA}/clients/consumer/consumer-protocol.js`, "kafka", "consumerProtocol"],
  ["file-type", "file-type", "main"],
  ["hyparquet-writer", "parquet", "main"],
  ["modern-tar/fs", "modern-tar", "main"],
  ["nodemailer", "nodemailer", "main"],
  ["openid-client", "openid-client", "main"],
] as const;

/** Bundles an import of `specifier`. The files of packed libraries stay imports. */
async function bundle(specifier: string): Promise<string> {
  const entry: BunPlugin = {
    name: "entry",
    setup(build) {
      build.onResolve({ filter: /^entry$/ }, ({ path }) => ({ path, namespace: "entry" }));
      build.onLoad({ filter: /./, namespace: "entry" }, () => ({
        contents: `import * as all from "${specifier}"; console.log(all)`,
        loader: "js",
      }));
    },
  };
  const plugins = [entry, embedPackedLibraries];
  const built = Bun.build({
    ...{ entrypoints: ["entry"], target: "bun", external: ["packed-file:*"], plugins },
  });
  return await (await built).outputs[0]!.text();
}

test.each(parts)(
  "an import of %s gets all that the part of the library exports",
  async (specifier, library, part) => {
    const text = await bundle(specifier);
    expect(text.match(/from "packed-file:.*"/g)).toEqual([`from "packed-file:${library}.js"`]);
    expect(text).toMatch(new RegExp(`^var part = \\w+\\.${part}\\(\\);$`, "m"));
    const names = /^var \{([^}]*)\} = part;$/m
      .exec(text)![1]!
      .split(",")
      .map((it) => it.trim());
    const path = specifier.startsWith(".") ? `../../${specifier}` : specifier;
    const exported = Object.keys(await import(path)).filter((name) => name !== "default");
    expect(
      names
        .filter((name) => name !== "")
        .map((name) => name.replace(/:.*/, ""))
        .sort(),
    ).toEqual(exported.sort());
  },
);
