/** A type of destination as RudderStack defines it. */
export interface DestinationDefinition {
  /** Name of the destination type in RudderStack's spelling, such as `WEBHOOK`. */
  name: string;
  displayName: string;
  category: string | null;
  /**
   * Settings that are the same for all destinations of the type, such as `transformAtV1`. pixelmill
   * passes them to rudder-server.
   */
  config: DefinitionConfig;
  /** Default values of settings, for destinations that do not set them. */
  defaults: Readonly<Record<string, unknown>>;
}

/**
 * Settings of a destination definition. pixelmill reads only those that this interface names, but
 * passes all of them to rudder-server.
 */
export interface DefinitionConfig {
  /**
   * Paths of the secret settings, such as `password`, or `headers.to` for the key `to` in each item
   * of `headers`.
   */
  secretKeys?: readonly string[];
  /**
   * Names of a destination's settings. The list `defaultConfig` names the settings with one value
   * for all sources. Each other list names the settings with a separate value for one type of
   * source, such as `web`.
   */
  destConfig?: Readonly<Record<string, readonly string[]>>;
  [key: string]: unknown;
}

/** A type of source as RudderStack defines it. */
export interface SourceDefinition {
  /** Name of the source type in RudderStack's spelling, such as `Javascript`. */
  name: string;
  /**
   * Key in the `destConfig` of destination definitions, such as `web` or `cloud`. The list under
   * this key names the settings that have a separate value for sources of this type.
   */
  type: string;
  /** Category of the source type. rudder-server accepts only null, which means event streams. */
  category: string | null;
}

/** RudderStack's definitions of all destination and source types that rudder-server may need. */
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

  /** Returns a destination type's definition, ignoring case, or undefined for an unknown type. */
  destination(type: string): DestinationDefinition | undefined {
    return this.#destinations.get(typeKey(type));
  }

  /**
   * Returns a source type's definition, ignoring case. For an unknown type, returns a definition
   * with the properties of HTTP sources.
   */
  source(type: string): SourceDefinition {
    return this.#sources.get(typeKey(type)) ?? { name: type, type: "cloud", category: null };
  }

  destinations(): DestinationDefinition[] {
    return [...this.#destinations.values()];
  }
}

/**
 * Returns the name of a destination or source type in upper case, the form in which pixelmill
 * stores and compares such names.
 */
export function typeKey(name: string): string {
  return name.toUpperCase();
}
