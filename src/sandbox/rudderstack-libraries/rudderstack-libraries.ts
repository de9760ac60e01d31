import type { LibraryCode } from "../program.ts";
import hashV1 from "./hash-v1.library.js" with { type: "text" };

/**
 * The libraries that JavaScript code imports under RudderStack's names, such as `@rs/hash/v1`. Each
 * has the functions that RudderStack documents. Python code cannot import such names.
 */
export const rudderstackLibraries: readonly LibraryCode[] = [
  { importName: "@rs/hash/v1", versionId: "@rs/hash/v1", code: hashV1 },
];

/** Whether code may import this name although the workspace has no such library. */
export function isRudderstackLibrary(importName: string): boolean {
  return rudderstackLibraries.some((library) => library.importName === importName);
}

/** Returns the message for an import of a module that does not exist. */
export function missingModuleMessage(importName: string): string {
  const message = `Error: import from ${importName} failed. Module not found.`;
  if (!importName.startsWith("@rs/")) return message;
  const names = rudderstackLibraries.map((library) => library.importName).join(", ");
  return `${message} RudderStack's libraries that exist here: ${names}`;
}
