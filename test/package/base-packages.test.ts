import { afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fetchPackages, packagesIn } from "../../src/package/image/base-packages.ts";
import { missingPrograms, testWith } from "../counterpart.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";

const CONTENT = "a package";
const sha256 = new Bun.CryptoHasher("sha256").update(CONTENT).digest("hex");
const libc = { name: "libc6", version: "2.36-9", sha256 };
const dash = { name: "dash", version: "0.5.12-2", sha256 };

let root: string;
let directory: string;
const { which } = Bun;
let found: ReturnType<typeof spyOn> | undefined;

beforeEach(() => {
  root = temporaryDirectory();
  directory = join(root, "packages");
});
afterEach(() => {
  found?.mockRestore();
  removeDirectory(root);
});

function useApt(path: string | null): void {
  found = spyOn(Bun, "which").mockImplementation((name) => {
    return name === "apt-get" ? path : which(name);
  });
}

/** Uses an apt-get that writes `content` as each package. Without content, it has no package. */
function putApt(content?: string): void {
  const bin = join(root, "bin");
  mkdirSync(bin);
  const download = content === undefined ? "exit 100" : `printf '${content}' > "$1.deb"`;
  const script = `#!/bin/sh
echo "$PWD $*" >> ${root}/calls
while [ "$1" = -qq ] || [ "$1" = -o ]; do [ "$1" = -o ] && shift; shift; done
[ "$1" = update ] && exec test -d lists/partial -a -d cache/archives/partial -a -f status
shift
${download}
`;
  writeFileSync(join(bin, "apt-get"), script);
  chmodSync(join(bin, "apt-get"), 0o755);
  useApt(join(bin, "apt-get"));
}

/** Words of the calls of apt-get, without its options, and the directories of the calls. */
function calls() {
  if (!existsSync(join(root, "calls"))) return [];
  const lines = readFileSync(join(root, "calls"), "utf8").trim().split("\n");
  return lines.map((line) => {
    const [place = "", ...words] = line.split(" ");
    return { place, words: words.filter((word, at) => word !== "-o" && words[at - 1] !== "-o") };
  });
}

const fetched = (it: { name: string }) => join(directory, `${it.name}-arm64-${sha256}.deb`);

const testFetch = testWith(missingPrograms("env", "sha256sum"));

testFetch("missing packages of the image are fetched once, in their versions", () => {
  putApt(CONTENT);
  expect(fetchPackages([libc], "arm64", directory)).toEqual([fetched(libc)]);
  const both = [libc, dash];
  expect(fetchPackages(both, "arm64", directory)).toEqual(both.map(fetched));
  expect(fetchPackages(both, "arm64", directory)).toEqual(both.map(fetched));
  expect(both.map((it) => readFileSync(fetched(it), "utf8"))).toEqual([CONTENT, CONTENT]);
  const wanted = [libc, dash].flatMap(({ name, version }) => [
    ["-qq", "update"],
    ["-qq", "download", `${name}=${version}`],
  ]);
  expect(calls().map(({ words }) => words)).toEqual(wanted);
  expect(readdirSync(directory)).toHaveLength(2);
});

testFetch("apt works in directories of its own, for the image's processor alone", () => {
  putApt(CONTENT);
  fetchPackages([libc], "arm64", directory);
  const [update, download] = calls();
  const own = update!.place;
  expect(own).toStartWith(join(directory, "apt-"));
  expect(download!.place).toBe(join(own, "downloads"));
  const [line] = readFileSync(join(root, "calls"), "utf8").split("\n");
  expect(line!.split(" ").filter((word) => /^\w+(::\w+)+(::)?=/.test(word))).toEqual([
    "APT::Architecture=arm64",
    "APT::Architectures::=arm64",
    `Dir::State=${own}`,
    `Dir::State::status=${join(own, "status")}`,
    `Dir::Cache=${join(own, "cache")}`,
    "Acquire::Languages=none",
    "APT::Sandbox::User=",
  ]);
});

testFetch("a package with another hash is refused with both hashes, and not kept", () => {
  putApt("another one");
  const got = new Bun.CryptoHasher("sha256").update("another one").digest("hex");
  expect(() => fetchPackages([libc], "arm64", directory)).toThrow(
    `Expected libc6 2.36-9 with SHA-256 ${sha256}, got ${got}`,
  );
  expect(readdirSync(directory)).toEqual([]);
});

testFetch("a version that no source has any more is named, with what to do", () => {
  putApt();
  expect(() => fetchPackages([libc], "arm64", directory)).toThrow(
    /^Expected the machine's apt sources to have libc6 2\.36-9; write the current versions/,
  );
});

test("a machine without apt says that the image is built on Debian", () => {
  useApt(null);
  expect(() => fetchPackages([libc], "arm64", directory)).toThrow(/apt-get.*on Debian$/);
});
test("the packages that apt prints have their versions, whose signs apt encodes, and hashes", () => {
  const uris = `'http://a/libc6_2.41-12_amd64.deb' libc6_2.41-12_amd64.deb 2 SHA256:0a1b
'http://a/zlib1g_1%3a1.3.deb' zlib1g_1%3a1.3.dfsg+b1_arm64.deb 16 SHA256:2c3d
`;
  expect(packagesIn(uris)).toEqual([
    { name: "libc6", version: "2.41-12", sha256: "0a1b" },
    { name: "zlib1g", version: "1:1.3.dfsg+b1", sha256: "2c3d" },
  ]);
});
