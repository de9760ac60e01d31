/** A type of destination as RudderStack defines it. */
export interface DestinationDefinition {
  /** Name in RudderStack's spelling, such as `WEBHOOK`. */
  name: string;
  displayName: string;
  category: string | null;
  /** The definition's own settings, which rudder-server reads, such as `transformAtV1`. */
  config: DefinitionConfig;
  /** Values of settings that a destination does not have. */
  defaults: Readonly<Record<string, unknown>>;
}

/** The settings of a definition. pixelmill reads some of them. */
export interface DefinitionConfig {
  /** Paths of secret settings: `password`, or `headers.to` in each item of a list. */
  secretKeys?: readonly string[];
  /**
   * Names of settings: under `defaultConfig` those with one value, under a type of source, such as
   * `web`, those that have a value for each type of source.
   */
  destConfig?: Readonly<Record<string, readonly string[]>>;
  [key: string]: unknown;
}

/** A type of source as RudderStack defines it. */
export interface SourceDefinition {
  /** Name in RudderStack's spelling, such as `Javascript`. */
  name: string;
  /** Category of the type, such as `web` or `cloud`, which selects per-source settings. */
  type: string;
  /** Kind of source; null for event streams, which alone rudder-server's gateway accepts. */
  category: string | null;
}

/** The definitions of the source and destination types that a rudder-server may receive. */
export class Definitions {
  readonly #destinations: ReadonlyMap<string, DestinationDefinition>;
  readonly #sources: ReadonlyMap<string, SourceDefinition>;

  constructor(
    destinations: readonly DestinationDefinition[],
    sources: readonly SourceDefinition[],
  ) {
    this.#destinations = new Map(destinations.map((it) => [typeKey(it.name), it]));
    this.#sources = new Map(sources.map((it) => [typeKey(it.name), it]));
  }

  /** Returns the definition of a type of destination. Upper and lower case are equal. */
  destination(type: string): DestinationDefinition | undefined {
    return this.#destinations.get(typeKey(type));
  }

  /** Returns the definition of a source type, in any case, or by default that of an HTTP source. */
  source(type: string): SourceDefinition {
    return this.#sources.get(typeKey(type)) ?? { name: type, type: "cloud", category: null };
  }

  destinations(): DestinationDefinition[] {
    return [...this.#destinations.values()];
  }
}

/** Returns how the catalog stores a type that rudder-server delivers: the name in upper case. */
export function typeKey(name: string): string {
  return name.toUpperCase();
}
