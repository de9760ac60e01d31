import { type TSchema, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { ErrorBody, errorStatuses } from "../../src/api/document/openapi.ts";
import { isAnsweredWithTag } from "../../src/api/document/precondition-headers.ts";
import type { Route } from "../../src/api/route.ts";
import { routes } from "../../src/api/route-table.ts";

/** Checks every answer of the tests against the documentation of its route. */

interface Answered {
  method: string;
  path: string;
  status: number;
  headers: Headers;
  text: string;
}

const patterns = routes.flatMap((route) =>
  [route.path, ...route.aliases].map((path) => ({
    route,
    literal: !path.includes("{"),
    pattern: new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}/?$`),
  })),
);

/** Literal paths come before those with a parameter. */
export function routeOf(method: string, path: string): Route | undefined {
  const [pathname = ""] = path.split("?");
  const fitting = patterns.filter(
    ({ route, pattern }) => route.method === method && pattern.test(pathname),
  );
  return (fitting.find(({ literal }) => literal) ?? fitting[0])?.route;
}

/** Everything in which an answer breaks its promise; empty when it keeps it. */
export function faultsOf(answered: Answered): string[] {
  const { method, path, status, headers, text } = answered;
  if (method === "HEAD") return text === "" ? [] : ["HEAD has a body"];
  const route = routeOf(method, path);
  const isSuccess = (status >= 200 && status < 300) || status === 303;
  if (route && isSuccess) return successFaults(route, status, headers, text);
  if (status === 304 && (route?.current || route?.answersTag) && method === "GET")
    return headers.get("etag") ? [] : ["304 has no ETag"];
  const documented = route ? errorStatuses(route) : [403, 404, 405];
  const more = status === 400 ? route?.refusal : undefined;
  return [
    ...(documented.includes(status) ? [] : [`${status} is not documented`]),
    ...refusalFaults(answered, more),
  ];
}

function successFaults(route: Route, status: number, headers: Headers, text: string): string[] {
  const hasBody = route.status !== 204 && route.status !== 303;
  const expectedType = route.media ?? (hasBody ? "application/json" : "");
  const type = headers.get("content-type") ?? "";
  const faults = [
    ...(status === route.status ? [] : [`answered ${status}, documented is ${route.status}`]),
    ...(type.startsWith(expectedType) ? [] : [`is of type ${type}`]),
  ];
  if (isAnsweredWithTag(route) !== /^(W\/)?"[\w.-]+"$/.test(headers.get("etag") ?? "")) {
    faults.push(`has the ETag ${headers.get("etag")}`);
  }
  if (route.media || route.path === "/docs/json") return faults;
  if (!hasBody) return text === "" ? faults : [...faults, `${status} has a body`];
  return [...faults, ...misfits(route.answer, JSON.parse(text))];
}

const strictRefusal = strict(ErrorBody);
const strictReadiness = strict(
  Type.Composite([
    ErrorBody,
    routes.find((route) => route.path === "/ready")!.answer as ReturnType<typeof Type.Object>,
  ]),
);

function refusalFaults(answered: Answered, more?: TSchema): string[] {
  const { path, status, headers, text } = answered;
  const faults: string[] = [];
  if (headers.get("content-type") !== "application/json") faults.push("is not JSON");
  const body = parsed(text);
  const schema = path === "/ready" && status === 503 ? strictReadiness : strictRefusal;
  if (!Value.Check(schema, body) && !(more && Value.Check(strictOnce(more), body)))
    return [...faults, `has another body: ${text.slice(0, 200)}`];
  const { message, error } = body as { message: string; error?: string };
  if (error !== (path.startsWith("/v2/") ? message : undefined)) faults.push("error is wrong");
  if (!/^[A-Z][^\n]*[^.\s]$/.test(message)) faults.push(`is no sentence: ${message}`);
  // Details of user code show its own frames, the message shows none.
  const ours = /\/(src|node_modules|home|tmp|bunfs)\/|\.ts\b|\$bunfs/;
  if (ours.test(text) || /\bat [\w.]+ \(/.test(message)) {
    faults.push(`shows a path or a stack: ${text.slice(0, 200)}`);
  }
  if (status === 401 && !/^(Bearer$|Basic realm=)/.test(headers.get("www-authenticate") ?? "")) {
    faults.push("has no WWW-Authenticate");
  }
  if (status === 405 && !headers.get("allow")) faults.push("has no Allow");
  return faults;
}

/** Where a value is not what a schema allows: a key that it does not name counts. */
export function misfits(schema: TSchema, value: unknown): string[] {
  return [...Value.Errors(strictOnce(schema), value)].map(
    ({ path, message }) => `${path}: ${message}`,
  );
}

/** The strict copies of schemas: an answer's check costs less than the copy of its schema. */
const strictCopies = new WeakMap<TSchema, TSchema>();

function strictOnce(schema: TSchema): TSchema {
  const copy = strictCopies.get(schema) ?? strict(schema);
  strictCopies.set(schema, copy);
  return copy;
}

function strict<S>(schema: S): S {
  if (Array.isArray(schema)) return schema.map(strict) as S;
  if (typeof schema !== "object" || schema === null) return schema;
  // Symbols too: TypeBox keeps its kinds under them.
  const entries = Object.entries(schema).map(([key, value]) => [key, strict(value)]);
  const copy = Object.assign({ ...schema }, Object.fromEntries(entries));
  return "properties" in schema ? { ...copy, additionalProperties: false } : copy;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
