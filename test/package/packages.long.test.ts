import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import Ajv from "ajv";
import { messageOf } from "../../src/errors.ts";
import { debianPackage } from "../../src/package/debian.ts";
import { type basePackages, fetchBasePackages } from "../../src/package/image/base-packages.ts";
import {
  describeWith,
  firstMissing,
  type Missing,
  missingPrograms,
  rootMissing,
  testWith,
} from "../counterpart.ts";
import {
  pixel,
  removeDirectory,
  route,
  startSink,
  temporaryDirectory,
  waitFor,
} from "../e2e/server.ts";
import { type RootedServer, serveIn, succeed, succeedIn } from "./clean-root.ts";

/**
 * The packages, built once for all tests here, installed in clean roots. Programs that this
 * machine's processor cannot run are run by qemu, or their files are looked at.
 */
const missing = firstMissing(
  missingPrograms("dpkg-deb", "apt-get", "npm", "tar"),
  baseMissing(["amd64", "arm64"]),
);
const missingRoot = firstMissing(missing, rootMissing, missingPrograms("unshare", "chroot"));
const VERSION = JSON.parse(readFileSync("package.json", "utf8")).version as string;
const TIME = succeed(["git", "log", "-1", "--format=%ct"]).trim();

/** A mirror deletes the versions of base.json when Debian replaces them. */
function baseMissing(architectures: readonly (keyof typeof basePackages)[]): Missing {
  try {
    for (const architecture of architectures) fetchBasePackages(architecture);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

let directory: string;
let packages: string;
beforeAll(() => {
  directory = temporaryDirectory();
  packages = join(directory, "packages");
  if (missing === undefined) build(process.cwd(), packages);
}, 900_000);
afterAll(() => removeDirectory(directory));

function build(checkout: string, into: string, env: Record<string, string> = {}): void {
  const script = 'umask "$0"; cd "$1"; shift; exec "$@"';
  const command = [process.execPath, "src/package/package.ts", "--directory", into];
  succeed(["/bin/sh", "-c", script, env.UMASK ?? "022", checkout, ...command], env);
}

const unpack = (archive: string, into: string) => {
  mkdirSync(into, { recursive: true });
  succeed(["tar", "-xpf", archive, "--numeric-owner", "-C", into]);
};

/** Sends a pixel, and waits until its event has come to a receiver. */
async function expectDelivery(server: RootedServer): Promise<void> {
  const sink = startSink();
  const code = "export const transformEvent = (event) => ({ ...event, seen: true });";
  const { writeKey } = await route(server, { url: sink.url, code });
  const { status } = await pixel(server, "page", { writeKey, userId: "u1", name: "Home" });
  expect(status).toBe(200);
  await waitFor(() => sink.events.length === 1);
  expect(sink.events[0]).toMatchObject({ type: "page", userId: "u1", seen: true });
}

testWith(missing)(
  "another checkout with another umask and time zone builds the same bytes",
  () => {
    const checkout = join(directory, "a", "checkout with another path");
    for (const path of succeed(["git", "ls-files", "-co", "--exclude-standard"])
      .trim()
      .split("\n")) {
      if (!existsSync(path)) continue;
      mkdirSync(join(checkout, dirname(path)), { recursive: true });
      cpSync(path, join(checkout, path));
    }
    succeed(["cp", "-a", "node_modules", join(checkout, "node_modules")]);
    // Fetched files are known by their hashes. The snapshot and the console are made again.
    succeed(["cp", "-a", "--parents", "dist/foreign", checkout]);
    const again = join(directory, "again");
    const gitDirectory = succeed(["git", "rev-parse", "--absolute-git-dir"]).trim();
    const env = { TZ: "Asia/Tokyo", LC_ALL: "C.UTF-8", UMASK: "077", GIT_DIR: gitDirectory };
    build(checkout, again, { ...env, SOURCE_DATE_EPOCH: TIME });
    const sums = (path: string) => readFileSync(join(path, "SHA256SUMS"), "utf8");
    expect(sums(again)).toBe(sums(packages));
    expect(sums(packages).trim().split("\n")).toHaveLength(7);
    succeed(["/bin/sh", "-c", 'cd "$0" && sha256sum --check --strict SHA256SUMS', again]);
    removeDirectory(dirname(checkout));
    removeDirectory(again);
  },
  900_000,
);

testWith(missing)("the bill of materials is CycloneDX, and names what is in the packages", () => {
  const schemas = "node_modules/@cyclonedx/cyclonedx-library/res/schema";
  const schema = (name: string) =>
    JSON.parse(readFileSync(join(schemas, `${name}.SNAPSHOT.schema.json`), "utf8"));
  const bom = JSON.parse(readFileSync(join(packages, `pixelmill-${VERSION}.cdx.json`), "utf8"));
  // Formats, such as that of a URI, are left out.
  const ajv = new Ajv({ strict: false, validateFormats: false });
  for (const name of ["spdx", "jsf-0.82"]) {
    const { $id } = schema(name);
    ajv.addSchema(schema(name), new URL(`${name}.SNAPSHOT.schema.json`, $id).href);
  }
  const validate = ajv.compile(schema(`bom-${bom.specVersion}`));
  expect(validate(bom) || validate.errors).toBe(true);
  expect(bom.metadata.component).toMatchObject({ name: "pixelmill", version: VERSION });
  const names = bom.components.map(({ name }: any) => name);
  expect(names).toContain("pyodide");
  expect(names).toContain("libstdc++6");
  expect(names).not.toContain("typescript");
  expect(new Set(bom.components.map((it: any) => it["bom-ref"])).size).toBe(names.length);
});

describeWith(firstMissing(missingRoot, missingPrograms("mmdebstrap")))("the Debian package", () => {
  let root: string;
  const first = () => join(packages, `pixelmill_${VERSION}_amd64.deb`);
  const inRoot = (...command: string[]) =>
    succeedIn({ path: root, user: "0:0", environment: {} }, command, {
      DEBIAN_FRONTEND: "noninteractive",
      LC_ALL: "C",
    });
  const dpkg = (...words: string[]) => inRoot("dpkg", ...words);
  const settings = () => join(root, "etc/pixelmill/pixelmill.toml");
  const data = () => join(root, "var/lib/pixelmill");
  /** Starts the command of the unit as its user. */
  const serve = () => {
    const unit = readFileSync(join(root, "lib/systemd/system/pixelmill.service"), "utf8");
    const command = unit.match(/^ExecStart=(.*)$/m)![1]!.split(" ");
    const [user] = unit.match(/(?<=^User=).*$/m)!;
    const id = inRoot("id", "-u", user!).trim();
    return serveIn(
      {
        path: root,
        user: `${id}:${inRoot("id", "-g", user!).trim()}`,
        environment: { PIXELMILL_HOST: "127.0.0.1", PIXELMILL_EGRESS_ALLOW: "127.0.0.0/8" },
      },
      command,
    );
  };

  beforeAll(() => {
    root = join(directory, "debian");
    const include = "--include=libstdc++6,passwd,debconf";
    succeed(["mmdebstrap", "--quiet", "--variant=essential", include, "bookworm", root]);
    cpSync(first(), join(root, "first.deb"));
  }, 900_000);

  test("its installation makes a user, a directory and settings, and serves", async () => {
    dpkg("--install", "/first.deb");
    expect(
      inRoot("stat", "-c", "%U:%G %a", "/var/lib/pixelmill", "/etc/pixelmill/pixelmill.toml"),
    ).toBe("pixelmill:pixelmill 700\nroot:pixelmill 640\n");
    const wants = readdirSync(join(root, "etc/systemd/system/sockets.target.wants")).sort();
    expect(wants).toEqual(["pixelmill-control.socket", "pixelmill-data.socket"]);
    expect(inRoot("pixelmill", "--version")).toBe(`${VERSION}\n`);
    const server = await serve();
    await expectDelivery(server);
    expect(
      server.run(["/usr/bin/pixelmill", "check", "health", "--data", "/var/lib/pixelmill"]),
    ).toEqual({
      exitCode: 0,
      text: "healthy\n",
    });
    expect(await server.stop()).toBe(0);
  }, 600_000);

  test("an upgrade keeps data and changed settings, and a unit that was disabled", async () => {
    const changed = `${readFileSync(settings(), "utf8")}\n[backup]\nkeep = 3\n`;
    writeFileSync(settings(), changed);
    // This is all that `systemctl disable` does.
    rmSync(join(root, "etc/systemd/system/sockets.target.wants/pixelmill-control.socket"));
    await debianPackage(
      {
        version: `${VERSION}+2`,
        architecture: "x64",
        time: Number(TIME),
        executable: new Uint8Array(readFileSync(join(root, "usr/bin/pixelmill"))),
      },
      join(root, "second.deb"),
    );
    dpkg("--install", "/second.deb");
    expect(inRoot("dpkg-query", "--show", "pixelmill")).toBe(`pixelmill\t${VERSION}+2\n`);
    expect(readFileSync(settings(), "utf8")).toBe(changed);
    const wants = readdirSync(join(root, "etc/systemd/system/sockets.target.wants"));
    expect(wants).toEqual(["pixelmill-data.socket"]);
    const server = await serve();
    const { body } = await server.api("GET", "/v2/sources");
    expect(body.sources).toHaveLength(1);
    expect(server.errors()).toContain('"backup.keep":3');
    expect(await server.stop()).toBe(0);
  }, 600_000);

  test("its removal keeps data and settings, and a purge without an answer keeps the data", () => {
    dpkg("--remove", "pixelmill");
    expect(existsSync(join(root, "usr/bin/pixelmill"))).toBe(false);
    expect(existsSync(settings())).toBe(true);
    expect(existsSync(join(data(), "catalog"))).toBe(true);
    const said = dpkg("--purge", "pixelmill");
    expect(said).toContain("/var/lib/pixelmill and the user pixelmill stay");
    expect(existsSync(dirname(settings()))).toBe(false);
    expect(existsSync(join(data(), "catalog"))).toBe(true);
    expect(inRoot("id", "-un", "pixelmill")).toBe("pixelmill\n");
  }, 600_000);

  test("a purge asks a person, and deletes the data when the answer is yes", () => {
    const ask = (answer: string) => {
      dpkg("--install", "/first.deb");
      const script = `echo ${answer} | DEBIAN_FRONTEND=teletype dpkg --purge pixelmill`;
      return inRoot("/bin/sh", "-c", script);
    };
    expect(ask("no")).toContain("Delete all events and code of pixelmill?");
    expect(existsSync(join(data(), "catalog"))).toBe(true);
    ask("yes");
    expect(existsSync(data())).toBe(false);
    expect(inRoot("getent", "passwd").includes("pixelmill")).toBe(false);
  }, 600_000);

  test("a purge deletes the data when debconf has that answer already", () => {
    dpkg("--install", "/first.deb");
    const told = 'echo "pixelmill pixelmill/purge-data boolean true" | debconf-set-selections';
    inRoot("/bin/sh", "-c", told);
    dpkg("--purge", "pixelmill");
    expect(existsSync(data())).toBe(false);
  }, 600_000);
});

testWith(missing)(
  "the archive has the executable, its manual, and the units that print systemd prints",
  () => {
    const name = `pixelmill-${VERSION}-linux-x64`;
    unpack(join(packages, `${name}.tar.gz`), join(directory, "archive"));
    const folder = join(directory, "archive", name);
    const pixelmill = (...words: string[]) => succeed([join(folder, "bin/pixelmill"), ...words]);
    expect(pixelmill("--version")).toBe(`${VERSION}\n`);
    expect(readFileSync(join(folder, "share/man/man1/pixelmill.1"), "utf8")).toBe(pixelmill("man"));
    const units = readdirSync(join(folder, "systemd")).sort();
    expect(units).toEqual([
      "pixelmill-control.socket",
      "pixelmill-data.socket",
      "pixelmill.service",
    ]);
    const printed = pixelmill("print", "systemd");
    for (const unit of units) {
      expect(printed).toContain(readFileSync(join(folder, "systemd", unit), "utf8"));
    }
    expect(pixelmill("config", "--config", join(folder, "etc/pixelmill.toml"))).toContain(
      'data = "/var/lib/pixelmill"',
    );
  },
  600_000,
);

/** Unpacks the layers of an image, and returns its configuration. Every blob has its hash. */
function unpackImage(architecture: string, into: string): any {
  const layout = join(packages, `pixelmill-${VERSION}-oci-${architecture}`);
  const blob = ({ digest, size }: { digest: string; size: number }) => {
    const path = join(layout, "blobs", digest.replace(":", "/"));
    expect(statSync(path).size).toBe(size);
    expect(succeed(["sha256sum", path]).split(" ")[0]).toBe(digest.replace("sha256:", ""));
    return path;
  };
  const json = (path: string) => JSON.parse(readFileSync(path, "utf8"));
  const [described] = json(join(layout, "index.json")).manifests;
  expect(described.platform).toEqual({ architecture, os: "linux" });
  const manifest = json(blob(described));
  const config = json(blob(manifest.config));
  const sums = manifest.layers.map((layer: any) => {
    unpack(blob(layer), into);
    const script = 'zcat "$0" | sha256sum';
    return `sha256:${succeed(["/bin/sh", "-c", script, blob(layer)]).split(" ")[0]}`;
  });
  expect(config.rootfs.diff_ids).toEqual(sums);
  expect(config.architecture).toBe(architecture);
  return config.config;
}

testWith(missingRoot)(
  "the image serves as its user on a read-only root, and knows whether it is healthy",
  async () => {
    const path = join(directory, "image");
    const config = unpackImage("amd64", path);
    const volume = join(directory, "volume");
    // A new volume has the owner and the mode of the directory in the image.
    succeed(["cp", "-a", join(path, "data"), volume]);
    const environment = Object.fromEntries(config.Env.map((it: string) => it.split(/=(.*)/s)));
    const root = {
      path,
      user: config.User,
      environment: { ...environment, PIXELMILL_EGRESS_ALLOW: "127.0.0.0/8" },
      mounts: `mount --bind "${volume}" "$R/data"; mount -o remount,bind,ro "$R"`,
    };
    const server = await serveIn(root, [...config.Entrypoint, ...config.Cmd]);
    await expectDelivery(server);
    const [, ...health] = config.Healthcheck.Test;
    expect(server.run(health)).toEqual({ exitCode: 0, text: "healthy\n" });
    expect(server.run(["/bin/sh", "-c", "echo > /tmp/file"]).text).toContain(
      "Read-only file system",
    );
    const checked = server.run(["/usr/bin/pixelmill", "check"]).text;
    expect(checked).toContain("ok    user code in JavaScript: runs confined\n");
    expect(checked).toContain("ok    user code in Python: runs confined\n");
    expect(await server.stop()).toBe(0);
    expect(server.run(health)).toMatchObject({ exitCode: 1 });
  },
  600_000,
);

testWith(firstMissing(missing, missingPrograms("skopeo")))(
  "skopeo reads the image, as a directory and as an archive",
  () => {
    for (const [scheme, end] of [
      ["oci", ""],
      ["oci-archive", ".tar"],
    ]) {
      const path = join(packages, `pixelmill-${VERSION}-oci-arm64${end}`);
      const image = JSON.parse(succeed(["skopeo", "inspect", `${scheme}:${path}:${VERSION}`]));
      expect(image).toMatchObject({ Architecture: "arm64", Os: "linux" });
    }
  },
  600_000,
);

describeWith(missing)("for arm64", () => {
  let root: string;
  beforeAll(() => {
    root = join(directory, "arm64");
    unpackImage("arm64", root);
  });

  test("every package has an executable and libraries for that processor alone", () => {
    /** Processor of an ELF file, which its bytes 18 and 19 name. */
    const machine = (path: string) => readFileSync(path).readUInt16LE(18);
    const AARCH64 = 183;
    const executable = join(root, "usr/bin/pixelmill");
    expect(machine(executable)).toBe(AARCH64);
    const libraries = readdirSync(join(root, "lib/aarch64-linux-gnu"));
    expect(libraries).toContain("libc.so.6");
    for (const name of libraries) {
      expect([name, machine(join(root, "lib/aarch64-linux-gnu", name))]).toEqual([name, AARCH64]);
    }
    const deb = join(packages, `pixelmill_${VERSION}_arm64.deb`);
    expect(succeed(["dpkg-deb", "--field", deb, "Architecture"])).toBe("arm64\n");
    succeed(["dpkg-deb", "--extract", deb, join(directory, "deb-arm64")]);
    unpack(join(packages, `pixelmill-${VERSION}-linux-arm64.tar.gz`), join(directory, "tar-arm64"));
    const others = [
      join(directory, "deb-arm64/usr/bin/pixelmill"),
      join(directory, `tar-arm64/pixelmill-${VERSION}-linux-arm64/bin/pixelmill`),
    ];
    for (const path of others) succeed(["cmp", executable, path]);
  }, 600_000);

  testWith(missingPrograms("qemu-aarch64-static"))(
    "the executable prints its manual and makes a workspace, with the image's libraries",
    () => {
      const pixelmill = (...words: string[]) =>
        succeed(["qemu-aarch64-static", "-L", root, join(root, "usr/bin/pixelmill"), ...words]);
      expect(pixelmill("--version")).toBe(`${VERSION}\n`);
      // The store is lmdb's addon.
      const data = join(directory, "arm64-data");
      expect(pixelmill("workspace", "create", "first", "--data", data)).toMatch(/\bpm_\w+/);
      expect(pixelmill("workspace", "list", "--data", data)).toContain("first");
    },
    600_000,
  );
});
