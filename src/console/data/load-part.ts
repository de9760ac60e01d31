/**
 * Thrown if a file with a part of the console's code cannot be loaded. This happens, for example,
 * after an upgrade of the server: a page that was opened before asks for the earlier files.
 */
export class PartNotLoaded extends TypeError {}

/** Loads the code of a part of the console. Rejects with `PartNotLoaded` if `load` fails. */
export async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    throw new PartNotLoaded("", { cause });
  }
}
