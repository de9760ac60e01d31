import type { TSchema } from "@sinclair/typebox";
import type { ConfigForm, DestinationKind } from "../../../destinations/destination.ts";
import { MASK } from "../../../destinations/masked-url.ts";
import { typeKey } from "../../../destinations/rudder-server/definition.ts";
import { opaqueForm } from "../../../destinations/rudder-server/opaque-config.ts";
import { ApiError, type Detail } from "../../../errors.ts";
import { isObject } from "../../../is-object.ts";
import { DETAILS_MAX } from "../../../settings/limits.ts";
import type { ApiDeps } from "../../deps.ts";
import { expectNone, invalidValue, unknownKeys } from "../../request/validation.ts";
import {
  audienceErrors,
  type DestinationConfig,
  retainSecrets,
  secretPaths,
  secretsOf,
} from "./stored-secrets.ts";

/**
 * Rules for the configs of a destination type: how configs are validated, and which keys are
 * secret. `formOf` returns other rules for a config that is written with RudderStack's keys.
 */
type ConfigForms = ConfigForm & Pick<DestinationKind, "formOf">;

/**
 * Types of destinations to which pixelmill delivers (`kinds`), and to which rudder-server delivers
 * (`definitions`).
 */
type KindDeps = Pick<ApiDeps, "kinds" | "definitions">;

/** Returns the destination kind with this name, ignoring case. Throws if there is none. */
export function kindOf({ kinds }: Pick<ApiDeps, "kinds">, type: string): DestinationKind {
  const kind = kinds.get(type.toLowerCase());
  if (kind) return kind;
  throw invalidValue("/type", `Expected one of ${[...kinds.keys()].join(", ")}, got another type`);
}

/**
 * Returns the rules for the configs of a destination type: how they are validated, and which keys
 * are secret. Returns undefined if neither pixelmill nor RudderStack's definitions have the type.
 */
export function formsOf({ kinds, definitions }: KindDeps, type: string): ConfigForms | undefined {
  const kind = kinds.get(type);
  if (kind !== undefined) return kind;
  const definition = definitions.destination(type);
  return definition && opaqueForm(definition);
}

/**
 * Returns the rules for the configs of a stored destination's type. Throws if the definition of the
 * type has been removed since the destination was created.
 */
export function expectForms(deps: KindDeps, type: string): ConfigForms {
  const forms = formsOf(deps, type);
  if (forms !== undefined) return forms;
  throw new ApiError("conflict", "The definition of the destination's type is missing now");
}

/** The type of a new destination as the catalog stores it, and the rules for its config. */
interface NewType {
  type: string;
  deliveredBy?: "rudder-server";
  forms: ConfigForms;
}

/**
 * Returns the type of a new destination, the program that delivers to it (by default pixelmill, if
 * it supports the type), and the rules for its config. Throws if the program does not support the
 * type.
 */
export function newType(
  deps: KindDeps,
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
    throw invalidValue("/type", message);
  }
  return { type: typeKey(definition.name), deliveredBy, forms: opaqueForm(definition) };
}

/**
 * Returns the sent config without nulls, plus the stored secrets that it leaves out. Throws if this
 * config is invalid, or would send a stored secret to another host than before. A disabled
 * destination may lack required keys.
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
  expectNoneInConfig(faults);
  return config;
}

/** Throws if a config lacks a required key. Called for a destination that is to be enabled. */
export function expectWhole(kind: ConfigForms, config: DestinationConfig): void {
  expectNoneInConfig(missingKeys(kind, config));
}

/** Returns an error for each required key that a config lacks. */
export function missingKeys(kind: ConfigForms, config: DestinationConfig): Detail[] {
  const faults = configErrors(formOf(kind, config), config);
  return faults.filter((fault) => isOfMissingKey(fault, config));
}

function expectNoneInConfig(faults: readonly Detail[]): void {
  expectNone(faults.map((it) => ({ ...it, path: `/config${it.path}` })));
}

/** Whether a validation error is about a missing key, not about a wrong value. */
function isOfMissingKey({ path }: Detail, config: DestinationConfig): boolean {
  const [, key = ""] = path.split("/");
  return key !== "" && config[key] === undefined;
}

/**
 * Returns a config for responses, without keys that the schema does not allow and without secrets.
 * If `headers` is `clear`, secret parts of URLs and secret webhook headers are shown.
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
        isObject(item) && isSecret(item) ? { ...item, [inner]: "" } : item,
      );
    } else if (isObject(shown[key])) {
      const { [inner]: _, ...rest } = shown[key];
      shown[key] = rest;
    }
  }
  return shown;
}

/** Returns a JSON pointer, such as `/headers/0/to`, to each secret that a stored config has. */
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

/** Returns the schema and secret keys for a config, by whether it uses RudderStack's key names. */
function formOf(kind: ConfigForms, config: DestinationConfig): ConfigForm {
  return kind.formOf?.(config) ?? kind;
}

/**
 * Returns the sent config, with the stored string in place of each masked string that the client
 * copied from a response. A string stays masked if responses with the sent config could show its
 * secret part.
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

/** Returns the string at a path such as `url` or `oauth.tokenUrl`. Undefined if there is none. */
function textAt(config: DestinationConfig, path: string): string | undefined {
  const [key = "", inner] = path.split(".");
  const holder = config[key];
  const value = inner === undefined ? holder : isObject(holder) && holder[inner];
  return typeof value === "string" ? value : undefined;
}

/** Returns a copy of a config in which the string at this path is replaced by `text`. */
function withText(config: DestinationConfig, path: string, text: string): DestinationConfig {
  const [key = "", inner] = path.split(".");
  const value = inner === undefined ? text : { ...(config[key] as object), [inner]: text };
  return { ...config, [key]: value };
}

/**
 * Returns an error for each string that contains a mask and differs from the stored string.
 * `unmasked` has not restored it, so to store it would replace the secret part by the mask.
 */
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
