import { afterAll, expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { unpackTar } from "modern-tar";
import { debianPackage, debianVersion } from "../../src/package/debian.ts";
import { output, type Product } from "../../src/package/product.ts";
import { tarball } from "../../src/package/tarball.ts";
import { missingPrograms, testWith } from "../counterpart.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";

/**
 * Packages of a text in place of the executable, which takes minutes to build for two processors.
 */
const TIME = 1_700_000_000;
const product: Product = {
  ...{ version: "1.2.3-rc.1", architecture: "arm64", time: TIME },
  executable: new Uint8Array(Buffer.from("the executable")),
};
const directory = temporaryDirectory();
afterAll(() => removeDirectory(directory));

test("an archive has the executable, its settings, units, manual and completions", async () => {
  const entries = await unpackTar(Bun.gunzipSync(await tarball(product)));
  const folder = "pixelmill-1.2.3-rc.1-linux-arm64/";
  const files = entries.filter(({ header }) => header.type === "file");
  expect(files.map(({ header }) => [header.name.replace(folder, ""), header.mode])).toEqual([
    ["INSTALL", 0o644],
    ["LICENSE", 0o644],
    ["bin/pixelmill", 0o755],
    ["etc/pixelmill.toml", 0o644],
    ["share/bash-completion/completions/pixelmill", 0o644],
    ["share/fish/vendor_completions.d/pixelmill.fish", 0o644],
    ["share/man/man1/pixelmill.1", 0o644],
    ["share/zsh/site-functions/_pixelmill", 0o644],
    ["systemd/pixelmill-control.socket", 0o644],
    ["systemd/pixelmill-data.socket", 0o644],
    ["systemd/pixelmill.service", 0o644],
  ]);
  const textOf = (name: string) => {
    const found = files.find(({ header }) => header.name === folder + name);
    return Buffer.from(found!.data!).toString();
  };
  expect(textOf("bin/pixelmill")).toBe("the executable");
  expect(textOf("INSTALL")).toContain("bin/pixelmill");
  expect(textOf("share/man/man1/pixelmill.1")).toStartWith(".TH");
  expect(textOf("share/bash-completion/completions/pixelmill")).toContain("complete -o default -F");
  expect(textOf("share/zsh/site-functions/_pixelmill")).toStartWith("#compdef pixelmill");
  expect(textOf("share/fish/vendor_completions.d/pixelmill.fish")).toContain(
    "complete -c pixelmill",
  );
  expect(textOf("systemd/pixelmill.service")).toMatch(/^DynamicUser=yes$/m);
  expect(textOf("systemd/pixelmill-data.socket")).toContain("[Socket]");
});

testWith(missingPrograms("dpkg-deb"))(
  "a Debian package has its files, sums and scripts",
  async () => {
    const path = join(directory, "new/pixelmill.deb");
    await debianPackage(product, path);
    const unpacked = join(directory, "unpacked");
    output(["dpkg-deb", "--raw-extract", path, unpacked]);
    const names = [...new Bun.Glob("**").scanSync({ cwd: unpacked, dot: true })].sort();
    const stats = names.map((name) => ({ name, stat: statSync(join(unpacked, name)) }));
    const executables = stats.filter(({ stat }) => (stat.mode & 0o777) === 0o755);
    expect(executables.map(({ name }) => name)).toEqual([
      ...["DEBIAN/postinst", "DEBIAN/postrm", "DEBIAN/prerm", "usr/bin/pixelmill"],
    ]);
    const others = stats.filter(({ stat }) => (stat.mode & 0o777) === 0o644);
    expect(others.map(({ name }) => name)).toEqual([
      ...["DEBIAN/conffiles", "DEBIAN/control", "DEBIAN/md5sums", "DEBIAN/templates"],
      "etc/pixelmill/pixelmill.toml",
      ...["pixelmill-control.socket", "pixelmill-data.socket", "pixelmill.service"].map(
        (name) => `lib/systemd/system/${name}`,
      ),
      "usr/share/bash-completion/completions/pixelmill",
      ...["usr/share/doc/pixelmill/CHANGELOG.md.gz", "usr/share/doc/pixelmill/copyright"],
      "usr/share/fish/vendor_completions.d/pixelmill.fish",
      "usr/share/man/man1/pixelmill.1.gz",
      "usr/share/zsh/vendor-completions/_pixelmill",
    ]);
    const installed = stats.filter(({ name }) => !name.startsWith("DEBIAN/"));
    expect(new Set(installed.map(({ stat }) => stat.mtimeMs))).toEqual(new Set([TIME * 1_000]));
    const listed = output(["dpkg-deb", "--contents", path]).trimEnd().split("\n");
    const directories = listed.filter((line) => line.endsWith("/"));
    for (const line of directories) expect(line).toStartWith("drwxr-xr-x root/root ");

    const bytesOf = (name: string) => readFileSync(join(unpacked, name));
    const textOf = (name: string) => bytesOf(name).toString();
    const sums = installed.map(({ name }) => {
      return `${new Bun.CryptoHasher("md5").update(bytesOf(name)).digest("hex")}  ${name}\n`;
    });
    expect(textOf("DEBIAN/md5sums")).toBe(sums.join(""));
    expect(textOf("DEBIAN/conffiles")).toBe("/etc/pixelmill/pixelmill.toml\n");
    const kib = installed.reduce((sum, { stat }) => sum + Math.ceil(stat.size / 1024), 0);
    // The sizes of texts are counted in characters.
    const [, size] = /^Installed-Size: (\d+)$/m.exec(textOf("DEBIAN/control"))!;
    expect(Math.abs(Number(size) - kib)).toBeLessThanOrEqual(1);
    expect(textOf("DEBIAN/control")).toMatch(/^Version: 1\.2\.3~rc\.1\nArchitecture: arm64$/m);

    const service = textOf("lib/systemd/system/pixelmill.service");
    expect(service).toMatch(
      /^ExecStart=.*\/usr\/bin\/pixelmill serve --config \/etc\/pixelmill\//m,
    );
    expect(service).toMatch(/^User=pixelmill\nGroup=pixelmill$/m);
    expect(service).not.toContain("DynamicUser");
    const copyright = textOf("usr/share/doc/pixelmill/copyright");
    expect(copyright).toMatch(/^Copyright: \d{4} .*\nLicense: MIT\n Permission is .*\n /m);
    expect(copyright).toContain("\n .\n");
    const changelog = bytesOf("usr/share/doc/pixelmill/CHANGELOG.md.gz");
    expect(Bun.gunzipSync(new Uint8Array(changelog)).length).toBe(statSync("CHANGELOG.md").size);
  },
);

test.each([
  ["1.0.0", "1.0.0"],
  ["1.0.0-rc.1", "1.0.0~rc.1"],
])("version %s of npm is %s in Debian", (version, debian) => {
  expect(debianVersion(version)).toBe(debian);
});
