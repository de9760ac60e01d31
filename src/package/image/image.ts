/**
 * Makes an image in the OCI layout without a container daemon: two layers, a configuration, a
 * manifest and an index. The additional `manifest.json` lets a Docker daemon with the older image
 * store load the image (`docker load`).
 */
import { type PackedEntry, tarOf } from "../archive.ts";
import { compressed, licence } from "../contents.ts";
import { debianNames, type PackedFile, type Product, textFile } from "../product.ts";
import { USER_ID } from "./root.ts";

const SECOND_NS = 1_000_000_000;

interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
}

/**
 * Returns the files of the OCI layout. `base` has the entries of the first layer; the second layer
 * adds the executable. `revision` is the commit that the image is built from.
 */
export async function imageLayout(
  product: Product,
  base: PackedEntry[],
  revision: string,
): Promise<PackedFile[]> {
  const blobs: PackedFile[] = [];
  const add = (mediaType: string, content: Uint8Array<ArrayBuffer> | string): Descriptor => {
    const digest = sha256(content);
    blobs.push(textFile(`blobs/sha256/${digest}`, content));
    return { mediaType, digest: `sha256:${digest}`, size: Buffer.byteLength(content) };
  };
  /** Adds a layer to the image. `diffId` is the digest of the layer's uncompressed archive. */
  const layer = async (entries: PackedEntry[]) => {
    const archive = await tarOf(entries, product.time);
    const mediaType = "application/vnd.oci.image.layer.v1.tar+gzip";
    return { descriptor: add(mediaType, compressed(archive)), diffId: `sha256:${sha256(archive)}` };
  };
  const layers = [
    await layer(base),
    await layer([
      { path: "usr/bin/pixelmill", mode: 0o755, content: product.executable },
      textFile("usr/share/doc/pixelmill/copyright", licence()),
    ]),
  ];
  const addJson = (mediaType: string, content: object) => add(mediaType, JSON.stringify(content));
  const configType = "application/vnd.oci.image.config.v1+json";
  const config = addJson(configType, configuration(product, revision, layers));
  const mediaType = "application/vnd.oci.image.manifest.v1+json";
  const descriptors = layers.map(({ descriptor }) => descriptor);
  const manifest = addJson(mediaType, { schemaVersion: 2, mediaType, config, layers: descriptors });
  const json = (path: string, content: unknown) => textFile(path, JSON.stringify(content));
  return [
    ...blobs,
    json("oci-layout", { imageLayoutVersion: "1.0.0" }),
    json("index.json", {
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.index.v1+json",
      manifests: [
        {
          ...manifest,
          platform: { architecture: debianNames[product.architecture], os: "linux" },
          annotations: { "org.opencontainers.image.ref.name": product.version },
        },
      ],
    }),
    json("manifest.json", [
      {
        Config: pathOf(config),
        RepoTags: [`pixelmill:${product.version}`],
        Layers: layers.map(({ descriptor }) => pathOf(descriptor)),
      },
    ]),
  ];
}

const sha256 = (content: Uint8Array<ArrayBuffer> | string): string =>
  new Bun.CryptoHasher("sha256").update(content).digest("hex");

const pathOf = ({ digest }: Descriptor): string => `blobs/${digest.replace(":", "/")}`;

function configuration(product: Product, revision: string, layers: { diffId: string }[]) {
  const { version, architecture, time } = product;
  const created = new Date(time * 1000).toISOString();
  return {
    created,
    architecture: debianNames[architecture],
    os: "linux",
    config: {
      User: `${USER_ID}:${USER_ID}`,
      ExposedPorts: { "8080/tcp": {}, "8081/tcp": {} },
      Env: [
        "PATH=/usr/bin:/bin",
        "PIXELMILL_DATA=/data/pixelmill",
        "PIXELMILL_ADMIN_HOST=0.0.0.0",
        // Bun unpacks lmdb's library here. The root may be read-only, and Docker's tmpfs does not
        // allow executing files.
        "TMPDIR=/data",
      ],
      Entrypoint: ["/usr/bin/pixelmill"],
      Cmd: ["serve"],
      Volumes: { "/data": {} },
      WorkingDir: "/data",
      StopSignal: "SIGTERM",
      // Docker runs the health check. The OCI format lacks this field; other runtimes ignore it.
      Healthcheck: {
        Test: ["CMD", "/usr/bin/pixelmill", "check", "health"],
        Interval: 30 * SECOND_NS,
        Timeout: 10 * SECOND_NS,
        StartPeriod: 30 * SECOND_NS,
        Retries: 3,
      },
      Labels: {
        "org.opencontainers.image.title": "pixelmill",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.revision": revision,
        "org.opencontainers.image.created": created,
        "org.opencontainers.image.licenses": "MIT",
      },
    },
    rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
    history: [
      {
        created,
        created_by: "libraries and shell of Debian",
        comment: "src/package/image/base.json",
      },
      { created, created_by: "pixelmill" },
    ],
  };
}
