import { expect, test } from "bun:test";
import { packagesIn } from "../../src/package/image/base-packages.ts";

test("the packages that apt prints have their versions, whose signs apt encodes, and hashes", () => {
  const uris = `'http://a/libc6_2.41-12_amd64.deb' libc6_2.41-12_amd64.deb 2 SHA256:0a1b
'http://a/zlib1g_1%3a1.3.deb' zlib1g_1%3a1.3.dfsg+b1_arm64.deb 16 SHA256:2c3d
`;
  expect(packagesIn(uris)).toEqual([
    { name: "libc6", version: "2.41-12", sha256: "0a1b" },
    { name: "zlib1g", version: "1:1.3.dfsg+b1", sha256: "2c3d" },
  ]);
});
