import http from "node:http";
import type { AddressInfo } from "node:net";
// @ts-expect-error The package has no types.
import Provider from "oidc-provider";
import type { OpenIdSettings } from "../../../src/api/sign-in/openid-provider.ts";

/** An account at the provider. Its id is its key in `accounts`. */
export interface Account {
  name?: string;
  email?: string;
  email_verified?: boolean;
  groups?: string[];
}

export interface TestProvider {
  issuer: string;
  accounts: Record<string, Account>;
  /** Id of the account that signs in at the next interaction. Undefined refuses to sign in. */
  current: string | undefined;
  stop(): Promise<void>;
}

export const clientSecret = "a-secret-of-the-client-with-enough-characters";

/** Starts an OpenID provider whose people sign in without a form, as `current` says. */
export async function startProvider(consoleUrl: string): Promise<TestProvider> {
  const server = http.createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "pixelmill",
        client_secret: clientSecret,
        redirect_uris: [`${consoleUrl}/v2/session/oidc/callback`],
        backchannel_logout_uri: `${consoleUrl}/v2/session/oidc/logout`,
        backchannel_logout_session_required: true,
      },
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
    features: {
      devInteractions: { enabled: false },
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (ctx: any, form: string) => {
          ctx.body = form;
        },
      },
    },
    cookies: { keys: ["a key of a test"] },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, ...made.accounts[id] }),
    }),
  });
  provider.use(async (ctx: any, next: () => Promise<void>) => {
    if (!ctx.path.startsWith("/interaction/")) return next();
    const { prompt, params, grantId } = await provider.interactionDetails(ctx.req, ctx.res);
    const accountId = made.current;
    if (accountId === undefined) {
      const refused = { error: "access_denied", error_description: "The user refused" };
      return provider.interactionFinished(ctx.req, ctx.res, refused);
    }
    if (prompt.name === "login") {
      return provider.interactionFinished(ctx.req, ctx.res, { login: { accountId } });
    }
    const grant = grantId
      ? await provider.Grant.find(grantId)
      : new provider.Grant({ accountId, clientId: params.client_id });
    grant.addOIDCScope("openid profile email");
    const consent = { grantId: await grant.save() };
    return provider.interactionFinished(
      ctx.req,
      ctx.res,
      { consent },
      { mergeWithLastSubmission: true },
    );
  });
  server.on("request", provider.callback());
  const made: TestProvider = {
    issuer,
    accounts: {},
    current: undefined,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return made;
}

/**
 * Settings of a server whose provider is `startProvider`'s; URLs are filled in once they are known.
 */
export const providerSettings = (): OpenIdSettings => ({
  issuer: "",
  clientId: "pixelmill",
  clientSecret,
  scopes: ["openid", "profile", "email"],
  groupsClaim: "groups",
  roles: [
    { group: "data", role: "developer" },
    { group: "on-call", role: "operator" },
    { group: "platform", role: "admin" },
  ],
  consoleUrl: "",
});

/** A browser without a screen: keeps cookies by host and follows redirects. */
export class TestBrowser {
  readonly #cookies = new Map<string, Map<string, string>>();

  cookies(url: string): Record<string, string> {
    return Object.fromEntries(this.#cookies.get(new URL(url).host) ?? []);
  }

  /** Sends one request with the host's cookies, and keeps the cookies of the answer. */
  async send(url: string, init: RequestInit = {}): Promise<Response> {
    const { host } = new URL(url);
    const jar = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, jar);
    const Cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { ...(Cookie && { Cookie }), ...(init.headers as Record<string, string>) };
    const answer = await fetch(url, { ...init, headers, redirect: "manual" });
    for (const set of answer.headers.getSetCookie()) {
      const [pair = ""] = set.split(";");
      const [name = "", value = ""] = pair.split(/=(.*)/s);
      const isRemoved = value === "" || /expires=Thu, 01 Jan 1970|max-age=0/i.test(set);
      if (isRemoved) jar.delete(name);
      else jar.set(name, value);
    }
    return answer;
  }

  /** Opens a page, following redirects. Resolves with the addresses of all answers. */
  async open(url: string): Promise<{ answer: Response; trail: string[] }> {
    const trail: string[] = [];
    for (let at = url; ; ) {
      trail.push(at);
      const answer = await this.send(at);
      const location = answer.headers.get("location");
      if (location === null || trail.length > 20) return { answer, trail };
      at = new URL(location, at).href;
    }
  }
}
