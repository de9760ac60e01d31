/**
 * Thrown if the code of a part of the console cannot be loaded. After an upgrade of the server, the
 * files that an open page still asks for have other names.
 */
export class PartNotLoaded extends TypeError {}

/** Loads the code of a part of the console. Rejects with `PartNotLoaded`. */
export async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    throw new PartNotLoaded("", { cause });
  }
}
