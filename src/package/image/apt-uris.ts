/** Version of a Debian package, and the hash of its file. */
export interface BasePackage {
  name: string;
  version: string;
  sha256: string;
}

/** The packages that `apt-get download --print-uris` prints, one in each line. */
export function packagesIn(uris: string): BasePackage[] {
  const lines = uris.trim().split("\n");
  return lines.map((line) => {
    const [, name, version, sha256] = line.match(/ (\S+?)_(\S+)_\w+\.deb \d+ SHA256:(\w+)$/)!;
    return { name: name!, version: decodeURIComponent(version!), sha256: sha256! };
  });
}
