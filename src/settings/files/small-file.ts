import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { orStartError, StartError } from "../../errors.ts";

/**
 * Returns the text of a small file. `name` is the setting, environment variable or credential for
 * error messages. Throws `StartError` if the file cannot be read, is not a regular file, or exceeds
 * `bytesMax` bytes.
 */
export function readSmallFile(name: string, path: string, bytesMax: number): string {
  const failure = `Cannot read the file ${path} of ${name}`;
  const bytes = orStartError(failure, () => readStart(path, bytesMax + 1));
  if (bytes === undefined) throw new StartError(`Expected a file for ${name}, got ${path}`);
  if (bytes.length <= bytesMax) return bytes.toString("utf8");
  throw new StartError(`Expected at most ${bytesMax} bytes in ${path} for ${name}, got more`);
}

/**
 * Returns at most the first `bytesMax` bytes of a file. Returns undefined for a directory, a pipe
 * or a device.
 */
function readStart(path: string, bytesMax: number): Buffer | undefined {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(fd).isFile()) return undefined;
    const bytes = Buffer.alloc(bytesMax);
    return bytes.subarray(0, readSync(fd, bytes, 0, bytesMax, 0));
  } finally {
    closeSync(fd);
  }
}
