import type { LibraryCode } from "../program.ts";
import encryptV1 from "./encrypt-v1.library.js" with { type: "text" };
import hashV1 from "./hash-v1.library.js" with { type: "text" };
import localizeAppleDeviceModelV1 from "./localize-apple-device-model-v1.library.js" with {
  type: "text",
};
import urlParserV1 from "./url-parser-v1.library.js" with { type: "text" };
import userAgentParserV1 from "./user-agent-parser-v1.library.js" with { type: "text" };

/**
 * Libraries that JavaScript code imports under RudderStack's names, such as `@rs/hash/v1`. Each has
 * the functions that RudderStack documents. A library uses only the JavaScript language itself, so
 * a rudder-transformer can run it too. Python code cannot import these names.
 */
export const rudderstackLibraries: readonly LibraryCode[] = [
  library("encrypt", encryptV1),
  library("hash", hashV1),
  library("localizeAppleDeviceModel", localizeAppleDeviceModelV1),
  library("urlParser", urlParserV1),
  library("userAgentParser", userAgentParserV1),
];

function library(name: string, code: string): LibraryCode {
  const importName = `@rs/${name}/v1`;
  return { importName, versionId: importName, code };
}

/**
 * Whether `importName` names one of RudderStack's libraries, which code can import although the
 * workspace does not contain them.
 */
export function isRudderstackLibrary(importName: string): boolean {
  return rudderstackLibraries.some((it) => it.importName === importName);
}

/** Returns the error message for an import of a module that does not exist. */
export function missingModuleMessage(importName: string): string {
  const message = `Error: import from ${importName} failed. Module not found.`;
  if (!importName.startsWith("@rs/")) return message;
  const names = rudderstackLibraries.map((it) => it.importName).join(", ");
  return `${message} RudderStack's libraries that exist here: ${names}`;
}
