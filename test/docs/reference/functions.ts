import {
  entryFunctions,
  metadataFunction,
  metadataKeys,
  providedFunctions,
  type UserCodeFunction,
} from "../../../src/console/texts/user-code-functions.ts";
import { table } from "./table.ts";

const signature = (text: string | undefined) => (text === undefined ? "–" : `\`${text}\``);

const rows = (functions: readonly UserCodeFunction[]) =>
  functions.map(({ signatures, meaning }) => [
    signature(signatures.javascript),
    signature(signatures.python),
    meaning,
  ]);

const columns = ["JavaScript", "Python", "meaning"];

export function functionsPage(): string {
  return `# Functions

The functions of [user code](../user-code.md): those that a transformation exports, and those that it may call without an
import.

## Exported by a transformation

A transformation exports exactly one of these. The module of a library exports whatever others import from it.

${table(columns, rows(entryFunctions))}
## Provided to code

${table(columns, rows([metadataFunction, ...providedFunctions]))}
## Keys of metadata

The object that \`metadata(event)\` returns has each of these keys, also those without a value:

${metadataKeys.map((key) => `\`${key}\``).join(", ")}
`;
}
