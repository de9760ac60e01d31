/**
 * Makes the bill of materials (CycloneDX) of all packages: the modules that npm lists, and the
 * image's Debian packages. All builds of one commit write the same file, because the file's serial
 * number and time depend only on the commit.
 */
import { type BasePackage, basePackages } from "./image/base-packages.ts";
import { output } from "./product.ts";

interface Component {
  "bom-ref": string;
  type: string;
  name: string;
  version: string;
  purl: string;
  hashes?: { alg: string; content: string }[];
  properties?: { name: string; value: string }[];
}

export interface BillOfMaterials {
  serialNumber: string;
  metadata: {
    timestamp: string;
    tools?: { vendor: string; name: string; version?: string }[];
    component: { name: string; type: string };
  };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

/**
 * Returns the bill of materials of the npm modules that the executable contains, as npm lists them.
 */
export function productionModules(): BillOfMaterials {
  const command = ["npm", "sbom", "--sbom-format=cyclonedx", "--omit=dev", "--package-lock-only"];
  if (Bun.which("npm") === null) {
    throw new Error(
      "Expected npm, which lists the modules for the bill of materials: install Node.js",
    );
  }
  return JSON.parse(output(command));
}

/**
 * Completes npm's bill of materials with the product's name, the image's Debian packages and a
 * serial number, and returns its JSON. `time` is that of the commit, in seconds since the epoch.
 */
export function billOfMaterials(bom: BillOfMaterials, time: number): string {
  const { metadata } = bom;
  // npm uses the name of the folder.
  metadata.component.name = "pixelmill";
  metadata.component.type = "application";
  metadata.timestamp = new Date(time * 1000).toISOString();
  for (const tool of metadata.tools ?? []) delete tool.version;
  const system = Object.entries(basePackages).flatMap(([architecture, packages]) =>
    packages.map((it) => debianComponent(it, architecture)),
  );
  bom.components.push(...system);
  bom.dependencies.push(...system.map((it) => ({ ref: it["bom-ref"], dependsOn: [] })));
  bom.serialNumber = `urn:uuid:${uuidOf(JSON.stringify({ ...bom, serialNumber: "" }))}`;
  return `${JSON.stringify(bom, null, 2)}\n`;
}

function debianComponent({ name, version, sha256 }: BasePackage, architecture: string): Component {
  const url = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-12`;
  return {
    "bom-ref": url,
    type: "library",
    name,
    version,
    purl: url,
    hashes: [{ alg: "SHA-256", content: sha256 }],
    properties: [{ name: "pixelmill:package", value: "image" }],
  };
}

/** Returns a UUID of version 8 (custom format, RFC 9562), computed from a string's hash. */
function uuidOf(text: string): string {
  const hex = new Bun.CryptoHasher("sha256").update(text).digest("hex");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/, "$1-$2-8$3-8$4-$5");
}
