import { statSync } from "node:fs";
import { Gauge } from "prom-client";
import { codeOf, messageOf, StartError } from "../../errors.ts";
import type { Metrics } from "../../observe/metrics.ts";
import {
  type ReadTlsKeys,
  readTlsKeys,
  type TlsKeys,
  type TlsPaths,
} from "../../settings/files/tls-files.ts";
import type { Config, Key } from "../../settings/keys.ts";
import { TLS_EXPIRY_WARNING_SECONDS, TLS_FILES_CHECK_MS } from "../../settings/limits.ts";
import type { StartContext } from "../backend.ts";

/** The certificate and key of one listener. They are read again when their files change. */
export type Certificate = ReturnType<typeof openCertificate>;

export type Certificates = Readonly<Record<Plane, Certificate>>;
type Plane = "data" | "control" | "transformer";

/** Name of each listener in log lines and warnings. */
export const listenerNames: Readonly<Record<Plane, string>> = {
  data: "data plane",
  control: "control plane",
  transformer: "transformer listener",
};

/**
 * Reads the TLS files of all listeners, and reads them again when they change. Throws `StartError`
 * if a file is unusable at the start. Later, an unusable file leaves the former keys in use and
 * causes a warning.
 */
export function openCertificates(opening: StartContext): Certificates {
  const data = openCertificate(opening, "data");
  const control = openCertificate(opening, "control");
  const transformer = openCertificate(opening, "transformer");
  registerGauges(opening.metrics, { data, control, transformer });
  return { data, control, transformer };
}

function registerGauges(metrics: Metrics, certificates: Certificates): void {
  const inUse = Object.entries(certificates).filter(([, it]) => it.keys() !== undefined);
  new Gauge({
    name: "pixelmill_tls_expiry_timestamp_seconds",
    help: "When the TLS certificate in force ends, by plane: data, control or transformer",
    labelNames: ["plane"],
    registers: [metrics],
    collect() {
      for (const [plane, it] of inUse) this.set({ plane }, (it.expiresAt() ?? 0) / 1_000);
    },
  });
  new Gauge({
    name: "pixelmill_tls_files_usable_ratio",
    help: "1 while the files of TLS can be used; 0 while those before them stay in force",
    labelNames: ["plane"],
    registers: [metrics],
    collect() {
      for (const [plane, it] of inUse) this.set({ plane }, it.isUsable() ? 1 : 0);
    },
  });
}

/** Reads the TLS files of one listener, and reads them again when they change. */
function openCertificate({ config, settings, logger, stack }: StartContext, plane: Plane) {
  let paths = tlsPaths(config, plane);
  let seen = fingerprint(paths);
  let read = paths && readTlsKeys(paths);
  let trouble: string | undefined;
  const users: ((keys: TlsKeys) => void)[] = [];

  function use(next: ReadTlsKeys | undefined): void {
    trouble = undefined;
    if (next === undefined || Bun.deepEquals(next, read)) return;
    read = next;
    logger.info({ plane, expires: new Date(next.expiresAt) }, "TLS certificate replaced");
    for (const user of users) user(next.keys);
  }

  function look(): void {
    const now = fingerprint(paths);
    if (paths === undefined || now === seen) return;
    seen = now;
    try {
      use(readTlsKeys(paths));
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      trouble = messageOf(error);
      logger.error({ plane, reason: trouble }, "files of TLS not used, the former ones stay");
    }
  }

  settings.add({
    keys: settingsOf[plane],
    prepare(next) {
      const nextPaths = tlsPaths(next, plane);
      const nextSeen = fingerprint(nextPaths);
      const nextRead = nextPaths && readTlsKeys(nextPaths);
      return () => {
        [paths, seen] = [nextPaths, nextSeen];
        use(nextRead);
      };
    },
  });
  if (paths !== undefined) {
    const timer = setInterval(look, TLS_FILES_CHECK_MS);
    stack.defer(() => clearInterval(timer));
  }
  return {
    /** Certificate and key that new connections use. Undefined if the listener has no TLS. */
    keys: () => read?.keys,
    /** When the certificate that new connections use expires, in milliseconds since the epoch. */
    expiresAt: () => read?.expiresAt,
    /**
     * Whether the TLS files could be used when they were last read. If not, the certificate and key
     * that were read before stay in use.
     */
    isUsable: () => trouble === undefined,
    /**
     * Registers the function `user`. Each replacement of the certificate and key calls it with the
     * new ones.
     */
    onChange: (user: (keys: TlsKeys) => void) => void users.push(user),
    /** Returns warnings about unusable TLS files and a certificate that expires soon. */
    warnings: () => [
      ...(trouble === undefined
        ? []
        : [`The former TLS files of the ${listenerNames[plane]} stay in use: ${trouble}`]),
      ...(read === undefined ? [] : expiryWarning(plane, read.expiresAt)),
    ],
  };
}

function expiryWarning(plane: Plane, expiresAt: number): string[] {
  const left = expiresAt - Date.now();
  if (left > 1_000 * TLS_EXPIRY_WARNING_SECONDS) return [];
  const when = new Date(expiresAt).toISOString();
  return [
    `The TLS certificate of the ${listenerNames[plane]} ${left > 0 ? "ends" : "has ended"} at ${when}`,
  ];
}

const settingsOf: Readonly<Record<Plane, readonly Key[]>> = {
  data: ["tls.certificate", "tls.key"],
  control: ["admin.tls.certificate", "admin.tls.key", "admin.tls.clients"],
  transformer: ["transformer.tls.certificate", "transformer.tls.key"],
};

/** Returns the paths of a listener's TLS files. Undefined when the listener has no TLS. */
export function tlsPaths(config: Config, plane: Plane): TlsPaths | undefined {
  const [certificateKey, keyKey, clientsKey] = settingsOf[plane] as [Key, Key, Key?];
  const certificate = config[certificateKey] as string | undefined;
  const key = config[keyKey] as string | undefined;
  const clients = clientsKey && (config[clientsKey] as string | undefined);
  if (certificate !== undefined && key !== undefined) {
    return { certificate, key, clients, prefix: certificateKey.replace(/certificate$/, "") };
  }
  if (certificate !== undefined || key !== undefined) {
    throw new StartError(`Settings ${certificateKey} and ${keyKey} need each other`);
  }
  if (clients !== undefined) throw new StartError(`Setting ${clientsKey} needs ${certificateKey}`);
  return undefined;
}

/** Returns a string that changes when one of the TLS files is replaced or written. */
function fingerprint(paths: TlsPaths | undefined): string {
  if (paths === undefined) return "";
  const files = [paths.certificate, paths.key, paths.clients].filter((it) => it !== undefined);
  return JSON.stringify(files.map(fileVersion));
}

function fileVersion(file: string): unknown {
  try {
    const { ino, size, mtimeMs } = statSync(file);
    return [ino, size, mtimeMs];
  } catch (error) {
    // `readTlsKeys` cannot read the file either, and throws a sentence that says why.
    return codeOf(error);
  }
}
