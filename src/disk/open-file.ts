import { closeSync, type Mode, type OpenMode, openSync } from "node:fs";

/** Opens a file until the end of the block that declares it with `using`. */
export function openFile(path: string, flags: OpenMode, mode?: Mode): Disposable & { fd: number } {
  const fd = openSync(path, flags, mode);
  return { fd, [Symbol.dispose]: () => closeSync(fd) };
}
