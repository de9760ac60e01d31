/**
 * Thrown if a file with a part of the console's code cannot be loaded. A page that was opened
 * before an upgrade of the server asks for files that no longer exist.
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
