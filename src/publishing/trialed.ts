import type { CodeChange } from "../catalog/catalog.ts";
import type { Revision } from "../catalog/model.ts";
import type { UserError } from "../sandbox/program.ts";
import type { CheckReport } from "../sandbox/sandbox.ts";
import type { Suite } from "./publishing.ts";

/** Code that is tried together: the transformations run with these libraries. */
export interface Trial {
  transformations: { revision: Revision; suites: Suite[] }[];
  libraries: Revision[];
  /** Whether published code that imports the libraries is tried too, with its own test events. */
  withImporters: boolean;
}

/** What a trial found. */
export interface Trialed {
  transformations: TrialedTransformation[];
  libraries: TrialedLibrary[];
  /** Published libraries that the code used, for the commit. */
  seen: CodeChange["seen"];
  /** Published importers that were tested although the request does not name them. */
  tested: { versionId: string }[];
}
export interface TrialedLibrary {
  revision: Revision;
  imports: string[];
  error?: UserError;
}
export interface TrialedTransformation {
  revision: Revision;
  imports: string[];
  /** Why the code did not load; then no event ran. */
  error?: UserError;
  runs: { suite: Suite; report: CheckReport }[];
}
