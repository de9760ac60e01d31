import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { unpackTar } from "modern-tar";
import type { PackedEntry } from "../../src/package/archive.ts";
import { imageLayout } from "../../src/package/image/image.ts";
import { systemFiles } from "../../src/package/image/root.ts";
import { type BillOfMaterials, billOfMaterials } from "../../src/package/sbom.ts";

/**
 * An image of texts in place of the executable and of Debian's packages, read as a runtime does.
 */
const TIME = 1_700_000_000;
const product = {
  ...{ version: "1.2.3", architecture: "x64" as const, time: TIME },
  executable: new Uint8Array(Buffer.from("the executable")),
};
const library: PackedEntry = { path: "lib/libc.so.6", mode: 0o755, content: "libc" };
const layout = await imageLayout(product, [library, ...systemFiles], "0a1b2c");
const files = new Map(layout.map(({ path, content }) => [path, Buffer.from(content)]));
const jsonOf = (path: string) => JSON.parse(files.get(path)!.toString());
const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

/** Reads a blob as a runtime does, which checks its hash and its size. */
function blobOf({ digest, size }: { digest: string; size: number }): Buffer {
  const [algorithm, hash] = digest.split(":");
  const bytes = files.get(`blobs/${algorithm}/${hash}`)!;
  expect([sha256(bytes), bytes.length]).toEqual([hash!, size]);
  return bytes;
}

const [reference] = jsonOf("index.json").manifests;
const manifest = JSON.parse(blobOf(reference).toString());
const config = JSON.parse(blobOf(manifest.config).toString());
const archives: Uint8Array<ArrayBuffer>[] = manifest.layers.map((layer: any) =>
  Bun.gunzipSync(new Uint8Array(blobOf(layer))),
);

test("a runtime finds the image by its version and processor, and every blob by its hash", () => {
  expect(jsonOf("oci-layout")).toEqual({ imageLayoutVersion: "1.0.0" });
  expect(reference.platform).toEqual({ architecture: "amd64", os: "linux" });
  expect(reference.annotations).toEqual({ "org.opencontainers.image.ref.name": "1.2.3" });
  const { schemaVersion, mediaType } = jsonOf("index.json");
  expect([schemaVersion, mediaType]).toEqual([2, "application/vnd.oci.image.index.v1+json"]);
  expect(reference.mediaType).toBe("application/vnd.oci.image.manifest.v1+json");
  expect([manifest.schemaVersion, manifest.mediaType]).toEqual([2, reference.mediaType]);
  expect(manifest.config.mediaType).toBe("application/vnd.oci.image.config.v1+json");
  const types = manifest.layers.map((layer: any) => layer.mediaType);
  expect(types).toEqual(Array(2).fill("application/vnd.oci.image.layer.v1.tar+gzip"));
  expect([config.architecture, config.os]).toEqual(["amd64", "linux"]);
  expect(config.rootfs).toEqual({
    type: "layers",
    diff_ids: archives.map((archive) => `sha256:${sha256(archive)}`),
  });
  expect(config.history).toHaveLength(archives.length);
  expect(new Set(layout.map(({ mode }) => mode))).toEqual(new Set([0o644]));
});

test("an older Docker daemon finds the configuration, the layers and the version of the image", () => {
  const [docker] = jsonOf("manifest.json");
  expect(docker.RepoTags).toEqual(["pixelmill:1.2.3"]);
  expect(JSON.parse(files.get(docker.Config)!.toString())).toEqual(config);
  const unpacked = docker.Layers.map((path: string) =>
    Bun.gunzipSync(new Uint8Array(files.get(path)!)),
  );
  expect(unpacked).toEqual(archives);
});

test("the image runs the server as its user, which owns the data and has a shell", async () => {
  const [base, own] = await Promise.all(archives.map((archive) => unpackTar(archive)));
  const entry = (path: string) =>
    [...base!, ...own!].find(({ header }) => header.name.replace(/\/$/, "") === path)!;
  const textAt = (path: string) => Buffer.from(entry(path).data!).toString();
  const { User, Entrypoint, Cmd, Volumes, WorkingDir, Env, ExposedPorts } = config.config;
  const [uid, gid] = User.split(":").map(Number);

  const [executable] = Entrypoint;
  expect(textAt(executable.slice(1))).toBe("the executable");
  expect(entry(executable.slice(1)).header.mode).toBe(0o755);
  expect(Cmd).toEqual(["serve"]);
  expect(Object.keys(ExposedPorts)).toEqual(["8080/tcp", "8081/tcp"]);
  expect(Object.keys(Volumes)).toEqual([WorkingDir]);
  expect(entry(WorkingDir.slice(1)).header).toMatchObject({ uid, gid, mode: 0o700 });
  expect(entry("tmp").header).toMatchObject({ mode: 0o1777, type: "directory" });
  const variables = Object.fromEntries(Env.map((text: string) => text.split("=")));
  expect(variables).toMatchObject({ TMPDIR: WorkingDir, PIXELMILL_ADMIN_HOST: "0.0.0.0" });
  expect(variables.PIXELMILL_DATA).toStartWith(`${WorkingDir}/`);
  expect(variables.PATH.split(":")).toContain("/bin");

  // The Kubernetes manifest of the guide names the user, too.
  const manifest = readFileSync("docs/operating.md", "utf8");
  expect(manifest).toContain(`runAsUser: ${uid}, fsGroup: ${gid} }`);
  const users = textAt("etc/passwd").split("\n");
  expect(users).toContain(`pixelmill:x:${uid}:${gid}::${WorkingDir}:/bin/sh`);
  expect(textAt("etc/group").split("\n")).toContain(`pixelmill:x:${gid}:`);
  expect(entry("etc/passwd").header.mode).toBe(0o644);
  expect(entry("bin/sh").header).toMatchObject({ type: "symlink", linkname: "dash" });
  expect(textAt("etc/nsswitch.conf")).toMatch(/^hosts: files dns$/m);
  expect(textAt("lib/libc.so.6")).toBe("libc");
  expect(textAt("usr/share/doc/pixelmill/copyright")).toContain("MIT");
  expect(entry("usr/share/doc/pixelmill/copyright").header.mode).toBe(0o644);
});

test("Docker checks the health of the server, and stops it by the signal that it drains at", () => {
  const second = 1e9;
  const { StopSignal, Healthcheck, Labels } = config.config;
  expect(StopSignal).toBe("SIGTERM");
  expect(Healthcheck).toEqual({
    Test: ["CMD", "/usr/bin/pixelmill", "check", "health"],
    ...{ Interval: 30 * second, Timeout: 10 * second, StartPeriod: 30 * second, Retries: 3 },
  });
  const created = new Date(TIME * 1_000).toISOString();
  expect([config.created, ...config.history.map((it: any) => it.created)]).toEqual(
    Array(3).fill(created),
  );
  expect(Labels).toMatchObject({
    "org.opencontainers.image.version": "1.2.3",
    "org.opencontainers.image.revision": "0a1b2c",
    "org.opencontainers.image.created": created,
    "org.opencontainers.image.licenses": "MIT",
  });
});

/** A bill of materials as npm writes it in a folder `checkout`. */
const fromNpm = (): BillOfMaterials => ({
  serialNumber: `urn:uuid:${crypto.randomUUID()}`,
  metadata: {
    timestamp: new Date().toISOString(),
    tools: [{ vendor: "npm", name: "cli", version: "10.1.0" }],
    component: { name: "checkout", type: "library" },
  },
  components: [{ "bom-ref": "a@1", type: "library", name: "a", version: "1", purl: "pkg:npm/a@1" }],
  dependencies: [{ ref: "checkout@1", dependsOn: ["a@1"] }],
});

test("a bill of materials lists npm's modules and the image's Debian packages of each processor", () => {
  const { metadata, components, dependencies } = JSON.parse(billOfMaterials(fromNpm(), TIME));
  expect(metadata).toEqual({
    timestamp: new Date(TIME * 1_000).toISOString(),
    tools: [{ vendor: "npm", name: "cli" }],
    component: { name: "pixelmill", type: "application" },
  });
  expect(components[0]).toEqual(fromNpm().components[0]);
  const dash = components.filter(({ name }: { name: string }) => name === "dash");
  const { version, hashes } = dash[0];
  const address = (architecture: string) =>
    `pkg:deb/debian/dash@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-12`;
  expect(dash.map(({ purl }: { purl: string }) => purl)).toEqual(["amd64", "arm64"].map(address));
  expect(hashes).toEqual([{ alg: "SHA-256", content: expect.stringMatching(/^[0-9a-f]{64}$/) }]);
  expect(dash[0].properties).toEqual([{ name: "pixelmill:package", value: "image" }]);
  expect(new Set(components.map(({ type }: { type: string }) => type))).toEqual(
    new Set(["library"]),
  );
  const refs = components.map((it: any) => it["bom-ref"]);
  expect(new Set(refs).size).toBe(refs.length);
  const depending = dependencies.map(({ ref }: { ref: string }) => ref);
  expect(depending).toEqual(["checkout@1", ...refs.slice(1)]);
  expect(dependencies.at(-1)).toEqual({ ref: refs.at(-1), dependsOn: [] });
});

test("two bills of one commit are equal, and each content has a serial number of its own", () => {
  const first = billOfMaterials(fromNpm(), TIME);
  expect(billOfMaterials(fromNpm(), TIME)).toBe(first);
  const serial = (text: string) => JSON.parse(text).serialNumber;
  // A UUID of version 8, and of the variant of RFC 9562.
  expect(serial(first)).toMatch(
    /^urn:uuid:[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-8[\da-f]{3}-[\da-f]{12}$/,
  );
  expect(serial(billOfMaterials(fromNpm(), TIME + 1))).not.toBe(serial(first));
});
