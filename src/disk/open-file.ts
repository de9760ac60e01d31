import { closeSync, type Mode, type OpenMode, openSync } from "node:fs";

/** Opens a file. A variable declared with `using` closes it at the end of its block. */
export function openFile(path: string, flags: OpenMode, mode?: Mode): Disposable & { fd: number } {
  const fd = openSync(path, flags, mode);
  return { fd, [Symbol.dispose]: () => closeSync(fd) };
}
