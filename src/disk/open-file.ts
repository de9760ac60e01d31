import { closeSync, type Mode, type OpenMode, openSync } from "node:fs";

/** Opens a file. After `using file = openFile(…)`, the end of the block closes the file. */
export function openFile(path: string, flags: OpenMode, mode?: Mode): Disposable & { fd: number } {
  const fd = openSync(path, flags, mode);
  return { fd, [Symbol.dispose]: () => closeSync(fd) };
}
