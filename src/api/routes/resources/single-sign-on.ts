import { Type } from "@sinclair/typebox";
import { highestRole } from "../../../catalog/management/roles.ts";
import type { WorkspaceRole } from "../../../catalog/model.ts";
import { ApiError, cutText } from "../../../errors.ts";
import { EMAIL_CHARS_MAX, NAME_CHARS_MAX } from "../../../settings/limits.ts";
import { component } from "../../../settings/schema-types.ts";
import type { RouteDeps } from "../../deps.ts";
import { PROVIDER_SIGN_IN_SECONDS_MAX } from "../../limits.ts";
import {
  expiredSessionCookie,
  sessionCookie,
  signInCookie,
  signInCookieValue,
} from "../../request/session-cookie.ts";
import { responseHeaders } from "../../response/errors.ts";
import { type RequestContext, route } from "../../route.ts";
import { enveloped } from "../../schema/common.ts";
import {
  type PendingSignIn,
  reasonOf,
  type SignedInAccount,
} from "../../sign-in/openid-provider.ts";
import type { SignOn } from "../../sign-in/sign-on.ts";

/** This file defines the routes of single sign-on with OpenID Connect and the sign-in form. */

/** Reasons why a sign-in at the OpenID provider failed. The console has a sentence for each. */
type SignInFailure =
  | "expired"
  | "denied"
  | "no-role"
  | "no-email"
  | "failed"
  | "unreachable"
  | "busy";

const text = Type.Optional(Type.String());

export const singleSignOnRoutes = [
  route("GET /v2/sign-in", {
    summary: "Tell which ways to sign in a browser there are beside a token",
    needs: "open",
    answer: enveloped(
      "signIn",
      component("SignIn", {
        provider: Type.Optional(
          Type.Object(
            { name: Type.String(), path: Type.String() },
            { description: "The OpenID provider; `path` is where a browser begins to sign in" },
          ),
        ),
      }),
    ),
    example: { answer: { signIn: { provider: { name: "Acme", path: "/v2/session/oidc" } } } },
    handle: ({ deps }) => ({
      signIn: {
        ...(deps.signOn && { provider: { name: deps.signOn.name, path: "/v2/session/oidc" } }),
      },
    }),
  }),

  route("GET /v2/session/oidc", {
    summary: "Send a browser to the OpenID provider to sign in",
    needs: "open",
    answer: Type.Undefined(),
    status: 303,
    example: { answer: undefined },
    handle: (call) => backWhenBusy(call.request, () => beginSignIn(call)),
  }),

  route("GET /v2/session/oidc/callback", {
    summary: "Begin the session of a browser that the OpenID provider sends back",
    needs: "open",
    query: { code: text, state: text, iss: text, error: text, error_description: text },
    answer: Type.Undefined(),
    status: 303,
    example: { answer: undefined },
    handle: (call) => backWhenBusy(call.request, () => endSignIn(call)),
  }),

  route("POST /v2/session/oidc/logout", {
    summary: "End sessions that began at the OpenID provider: its back-channel logout",
    needs: "open",
    isForm: true,
    body: Type.Object({ logout_token: Type.String() }),
    answer: Type.Undefined(),
    status: 204,
    example: { body: { logout_token: "eyJ0eXAiOiJsb2dvdXQrand0…" }, answer: undefined },
    async handle({ deps, body, client }) {
      const { provider } = expectSignOn(deps);
      using _ = deps.limiters.providerSignIns.acquire("all");
      const ended = await provider.readLogoutToken(body.logout_token).catch((error: unknown) => {
        deps.limiters.failedSignIns(client());
        deps.logger.warn({ reason: reasonOf(error) }, "logout token refused");
        throw new ApiError("invalid", "Expected a valid logout token of the OpenID provider");
      });
      const sessions = await deps.catalog.sessions.endProviderSessions(ended);
      deps.logger.info({ sessions }, "sessions ended by openid provider");
      return new Response(null, { status: 204, headers: responseHeaders });
    },
  }),
] as const;

type Call = Pick<RequestContext<"GET /", unknown, unknown>, "deps" | "request" | "client">;

/**
 * Calls `run`, and returns its response. If `run` rejects because the server is too busy for
 * sign-ins, redirects the browser to the console, which tells the user. An error response would
 * show JSON to the user.
 */
async function backWhenBusy(request: Request, run: () => Promise<Response>): Promise<Response> {
  try {
    return await run();
  } catch (error) {
    const isBusy = error instanceof ApiError && ["too-many", "unavailable"].includes(error.refusal);
    if (isBusy) return backToConsole("busy", request);
    throw error;
  }
}

async function beginSignIn({ deps, request, client }: Call): Promise<Response> {
  const { provider } = expectSignOn(deps);
  using _ = deps.limiters.providerSignIns.acquire("all");
  try {
    const { url, pending } = await provider.begin();
    const { state, nonce, verifier } = pending;
    const value = [state, nonce, verifier].join(".");
    const kept = signInCookie(request.headers, value, PROVIDER_SIGN_IN_SECONDS_MAX);
    return redirect(url.href, [kept]);
  } catch (error) {
    deps.limiters.failedSignIns(client());
    deps.logger.warn({ reason: reasonOf(error) }, "openid provider not reachable");
    return backToConsole("unreachable", request);
  }
}

async function endSignIn(call: Call): Promise<Response> {
  const signOn = expectSignOn(call.deps);
  using _ = call.deps.limiters.providerSignIns.acquire("all");
  const ended = await signIn(signOn, call);
  if (typeof ended !== "string") return redirect("/", ended.cookies);
  return backToConsole(ended, call.request);
}

/**
 * Begins a session for a browser that the provider has sent back. Returns the session's cookies, or
 * the reason why no session began.
 */
async function signIn(
  signOn: SignOn,
  { deps, request, client }: Call,
): Promise<{ cookies: string[] } | SignInFailure> {
  // `new URL` throws for some names that a client sends as Host.
  const [, search = ""] = request.url.split(/\?(.*)/s);
  const query = new URLSearchParams(search);
  const pending = pendingOf(signInCookieValue(request.headers));
  if (pending === undefined || query.get("state") !== pending.state) return "expired";
  if (query.get("error") === "access_denied") return "denied";
  const starting = deps.starting();
  if (starting !== undefined) throw new ApiError("unavailable", starting);
  let account: SignedInAccount;
  try {
    account = await signOn.provider.finish(query.toString(), pending);
  } catch (error) {
    deps.limiters.failedSignIns(client());
    deps.logger.warn({ reason: reasonOf(error) }, "sign-in at openid provider failed");
    return "failed";
  }
  await deps.catalog.current();
  const workspaceId = workspaceOf(signOn, deps);
  const { identity, email, isEmailVerified, providerSession } = account;
  const { subject } = identity;
  const role = roleOf(signOn, account.groups);
  if (role === undefined) {
    await deps.catalog.identities.refuse(workspaceId, identity);
    deps.logger.info({ subject }, "sign-in refused: no group of the account has a role");
    return "no-role";
  }
  if (email === undefined || email.length > EMAIL_CHARS_MAX) {
    deps.logger.info({ subject }, "sign-in refused: the account has no email address");
    return "no-email";
  }
  const name = cutText(account.name, NAME_CHARS_MAX);
  const admitted = { identity, name, email, isEmailVerified, role };
  const member = await deps.catalog.identities.admit(workspaceId, admitted);
  const expiresAt = Date.now() + signOn.sessionSeconds * 1_000;
  const { principal, secret } = await deps.catalog.sessions.beginForMember(workspaceId, member.id, {
    expiresAt,
    ...(providerSession !== undefined && { providerSession }),
  });
  const { tokenId } = principal;
  deps.logger.info({ workspaceId, tokenId, memberId: member.id }, "session begun");
  const cookies = [
    sessionCookie(request, secret, expiresAt)["Set-Cookie"],
    signInCookie(request.headers, "", 0),
  ];
  return { cookies };
}

function expectSignOn({ signOn }: RouteDeps): SignOn {
  if (signOn) return signOn;
  throw new ApiError("missing", "Single sign-on is off: the setting oidc.issuer is not set");
}

function workspaceOf({ workspaceId }: SignOn, { catalog }: RouteDeps): string {
  const found = workspaceId ?? catalog.workspaces.list(1)[0]?.id;
  if (found !== undefined && catalog.workspaces.get(found)) return found;
  throw new ApiError("missing", "The workspace of the setting oidc.workspace does not exist");
}

function roleOf({ provider }: SignOn, groups: readonly string[]): WorkspaceRole | undefined {
  const given = provider.settings.roles.filter(
    ({ group }) => group === "*" || groups.includes(group),
  );
  return highestRole(given.map(({ role }) => role));
}

function pendingOf(value: string | undefined): PendingSignIn | undefined {
  const [state, nonce, verifier, ...rest] = value?.split(".") ?? [];
  if (!state || !nonce || !verifier || rest.length > 0) return undefined;
  return { state, nonce, verifier };
}

function backToConsole(failure: SignInFailure, request: Request): Response {
  return redirect(`/?sign-in=${failure}`, [
    signInCookie(request.headers, "", 0),
    expiredSessionCookie(request)["Set-Cookie"],
  ]);
}

function redirect(location: string, cookies: readonly string[]): Response {
  const headers = new Headers({ ...responseHeaders, Location: location });
  for (const cookie of cookies) headers.append("Set-Cookie", cookie);
  return new Response(null, { status: 303, headers });
}
