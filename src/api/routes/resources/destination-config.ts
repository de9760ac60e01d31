import type { TSchema } from "@sinclair/typebox";
import type { ConfigForm, DestinationKind } from "../../../destinations/destination.ts";
import { MASK } from "../../../destinations/masked-url.ts";
import { typeKey } from "../../../destinations/rudder-server/definition.ts";
import { opaqueForm } from "../../../destinations/rudder-server/opaque-config.ts";
import { ApiError, type Detail } from "../../../errors.ts";
import { isObject } from "../../../is-object.ts";
import { DETAILS_MAX } from "../../../settings/limits.ts";
import type { ApiDeps } from "../../deps.ts";
import { unknownKeys } from "../../request/unknown-keys.ts";
import { validationError } from "../../request/validation.ts";
import {
  audienceErrors,
  type DestinationConfig,
  retainSecrets,
  secretPaths,
  secretsOf,
} from "./stored-secrets.ts";

/** How the config of a type is written: in one form, or in the form that its keys indicate. */
type ConfigForms = ConfigForm & Pick<DestinationKind, "formOf">;

/** Returns the kind of destination with this name. Upper and lower case are equal. */
export function kindOf({ kinds }: Pick<ApiDeps, "kinds">, type: string): DestinationKind {
  const kind = kinds.get(type.toLowerCase());
  if (kind) return kind;
  const message = `Expected one of ${[...kinds.keys()].join(", ")}, got another type`;
  throw validationError([{ path: "/type", message }]);
}

/**
 * Returns how configs of a stored type are written: the forms of a kind, or of a type that
 * rudder-server delivers. Undefined for a type that this version does not know, or that no longer
 * has a definition.
 */
export function formsOf(
  { kinds, definitions }: Pick<ApiDeps, "kinds" | "definitions">,
  type: string,
): ConfigForms | undefined {
  const kind = kinds.get(type);
  if (kind !== undefined) return kind;
  const definition = definitions.destination(type);
  return definition && opaqueForm(definition);
}

/** Returns how configs of a stored type are written. Throws when the type is unknown. */
export function expectForms(
  deps: Pick<ApiDeps, "kinds" | "definitions">,
  type: string,
): ConfigForms {
  const forms = formsOf(deps, type);
  if (forms !== undefined) return forms;
  throw new ApiError("conflict", "The definition of the destination's type is missing now");
}

/** The type of a new destination as the catalog stores it, and how its config is written. */
interface NewType {
  type: string;
  deliveredBy?: "rudder-server";
  forms: ConfigForms;
}

/**
 * Returns the type of a new destination. pixelmill delivers the types that it has, unless the
 * request says otherwise, and rudder-server those that have a definition. Throws for other types.
 */
export function newType(
  deps: Pick<ApiDeps, "kinds" | "definitions">,
  sent: { type: string; deliveredBy?: "pixelmill" | "rudder-server" | undefined },
): NewType {
  const definition = deps.definitions.destination(sent.type);
  const isOurs = deps.kinds.has(sent.type.toLowerCase()) || definition === undefined;
  const { deliveredBy = isOurs ? "pixelmill" : "rudder-server" } = sent;
  if (deliveredBy === "pixelmill") {
    const kind = kindOf(deps, sent.type);
    return { type: kind.kind, forms: kind };
  }
  if (definition === undefined) {
    const message = "Expected a type that has a definition of RudderStack, got another one";
    throw validationError([{ path: "/type", message }]);
  }
  return { type: typeKey(definition.name), deliveredBy, forms: opaqueForm(definition) };
}

/**
 * Returns the config to store: validated, without nulls, and with the stored secrets that the
 * request leaves out. The config of a disabled destination may lack keys. Throws when the config is
 * invalid. Also throws when a stored secret would be sent to another host than before, because the
 * caller may not know the secret.
 */
export function resolveConfig(
  kind: ConfigForms,
  sent: DestinationConfig,
  before: DestinationConfig,
  enabled: boolean,
): DestinationConfig {
  const form = formOf(kind, sent);
  const { config, kept } = retainSecrets(form, unmasked(form, sent, before), before);
  const faults = [...configErrors(form, config), ...maskErrors(form, config, before)].filter(
    (fault) => enabled || !isOfMissingKey(fault, config),
  );
  if (faults.length === 0) faults.push(...audienceErrors(kept, config, before));
  expectNone(faults);
  return config;
}

/** Throws when a config lacks keys, so that its destination cannot be enabled. */
export function expectWhole(kind: ConfigForms, config: DestinationConfig): void {
  expectNone(missingKeys(kind, config));
}

/** Returns an error for each required key that a config lacks. */
export function missingKeys(kind: ConfigForms, config: DestinationConfig): Detail[] {
  const faults = configErrors(formOf(kind, config), config);
  return faults.filter((fault) => isOfMissingKey(fault, config));
}

function expectNone(faults: readonly Detail[]): void {
  const [fault, ...more] = faults.map((it) => ({ ...it, path: `/config${it.path}` }));
  if (fault) throw validationError([fault, ...more]);
}

/** Whether a validation error says that a key is missing, and not that its value is wrong. */
function isOfMissingKey({ path }: Detail, config: DestinationConfig): boolean {
  const [, key = ""] = path.split("/");
  return key !== "" && config[key] === undefined;
}

/**
 * Returns the config as responses show it: only known keys, and no secrets. A secret in an item of
 * a list becomes an empty text. If `headers` is `clear`, however, the secret values of webhook
 * headers and the secret parts of URLs are shown.
 */
export function configAnswer(
  kind: ConfigForms,
  config: DestinationConfig,
  headers: ApiDeps["headers"],
): DestinationConfig {
  const form = formOf(kind, config);
  const { properties, additionalProperties } = form.configSchema;
  let shown: DestinationConfig = additionalProperties === true ? { ...config } : {};
  for (const key in properties) {
    if (config[key] !== undefined) shown[key] = config[key];
  }
  for (const { path, shown: mask } of headers === "clear" ? [] : (form.maskedKeys ?? [])) {
    if (textAt(config, path) !== undefined) shown = withText(shown, path, mask(config));
  }
  for (const { key, inner, secret } of secretsOf(form)) {
    const { isSecret = () => true } = secret;
    if (inner === undefined) delete shown[key];
    else if (Array.isArray(shown[key])) {
      if (secret.isSecret !== undefined && headers === "clear") continue;
      shown[key] = shown[key].map((item: DestinationConfig) =>
        isSecret(item) ? { ...item, [inner]: "" } : item,
      );
    } else if (isObject(shown[key])) {
      const { [inner]: _, ...rest } = shown[key];
      shown[key] = rest;
    }
  }
  return shown;
}

/** Returns JSON pointers to the secrets that a stored config has. */
export function secretsSet(kind: ConfigForms, config: DestinationConfig): string[] {
  return secretPaths(formOf(kind, config), config);
}

/** Returns the config schema of a kind of destination, with its secrets marked as `writeOnly`. */
export function schemaWithSecrets(kind: ConfigForm): TSchema {
  const schema: TSchema = structuredClone(kind.configSchema);
  for (const { key, inner } of secretsOf(kind)) {
    const property = schema.properties?.[key];
    const holder = property?.items ?? property;
    const secret = inner === undefined ? property : holder?.properties?.[inner];
    if (secret !== undefined) secret.writeOnly = true;
  }
  return schema;
}

/**
 * Returns the form in which a config is written: with pixelmill's own keys, or with RudderStack's.
 */
function formOf(kind: ConfigForms, config: DestinationConfig): ConfigForm {
  return kind.formOf?.(config) ?? kind;
}

/**
 * Returns the sent config with stored texts in place of their masked forms, which responses show. A
 * text stays masked if the sent config would show more of the stored text than before.
 */
function unmasked(
  { maskedKeys = [] }: ConfigForm,
  sent: DestinationConfig,
  before: DestinationConfig,
): DestinationConfig {
  let config = sent;
  for (const { path, shown } of maskedKeys) {
    const [old, text] = [textAt(before, path), textAt(sent, path)];
    if (old === undefined || text === undefined || shown(before) !== text) continue;
    const restored = withText(config, path, old);
    if (shown(restored) === text) config = restored;
  }
  return config;
}

/** Returns the text at a path such as `url` or `oauth.tokenUrl`; undefined when there is none. */
function textAt(config: DestinationConfig, path: string): string | undefined {
  const [key = "", inner] = path.split(".", 2);
  const holder = config[key];
  const value = inner === undefined ? holder : isObject(holder) && holder[inner];
  return typeof value === "string" ? value : undefined;
}

/** Returns a copy of a config that has a text at this path, with another text there. */
function withText(config: DestinationConfig, path: string, text: string): DestinationConfig {
  const [key = "", inner] = path.split(".", 2);
  const value = inner === undefined ? text : { ...(config[key] as object), [inner]: text };
  return { ...config, [key]: value };
}

/** Returns an error for each text that contains a mask and is not the stored text. */
function maskErrors(
  { maskedKeys = [] }: ConfigForm,
  config: DestinationConfig,
  before: DestinationConfig,
): Detail[] {
  return maskedKeys.flatMap(({ path }) => {
    const text = textAt(config, path);
    const isMasked = text?.includes(MASK) && text !== textAt(before, path);
    const message = `Expected the whole text, since ${MASK} stands for a secret part of another one`;
    return isMasked ? [{ path: `/${path.replace(".", "/")}`, message }] : [];
  });
}

function configErrors(form: ConfigForm, config: DestinationConfig): Detail[] {
  const unknown = unknownKeys(form.configSchema, config, "").take(DETAILS_MAX);
  return [...unknown, ...form.validate(config)].slice(0, DETAILS_MAX);
}
