import { type Static, Type } from "@sinclair/typebox";
import type { Principal } from "../../../catalog/model.ts";
import { ApiError } from "../../../errors.ts";
import type { ApiDeps } from "../../deps.ts";
import { noteRefusedToken } from "../../refused-tokens.ts";
import { INVALID_TOKEN } from "../../request/authenticate.ts";
import {
  expiredSessionCookie,
  sessionCookie,
  sessionSecret,
} from "../../request/session-cookie.ts";
import { jsonResponse, responseHeaders } from "../../response/errors.ts";
import { route } from "../../route.ts";
import { answerOf, enveloped, isoTime, Permissions, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { WorkspaceRole } from "./members.ts";

/** This file defines the routes that begin, show and end a browser's session. */

const SessionMember = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    email: Type.String(),
    workspaceRole: Type.Optional(WorkspaceRole),
  },
  { description: "Whose personal token it is" },
);
const Session = Type.Object(
  {
    token: Type.Object({ id: Type.String(), name: Type.String() }),
    member: Type.Optional(SessionMember),
    workspace: Type.Object({ id: Type.String(), name: Type.String() }),
    permissions: Permissions,
    expiresAt: Type.Optional(Time),
  },
  { $id: "Session", description: "Who a request comes from, and what it may now" },
);

export const sessionRoutes = [
  route("POST /v2/session", {
    summary: "Sign a browser in with a token: its session is a cookie that no script reads",
    needs: "open",
    body: Type.Object({ token: Type.String() }),
    answer: enveloped("session", Session),
    status: 201,
    example: { body: { token: example.ids.secret }, answer: { session: example.session } },
    async handle({ deps, body, client, request }) {
      const token = body.token.trim();
      const caller = deps.catalog.tokens.authenticate(token);
      // A valid token is never refused because of others' failures: behind a proxy that does not
      // name its clients, all clients have one address. A token has too many bits to be guessed.
      if (caller === undefined) {
        noteRefusedToken(deps, { secret: token, client: client(), route: "POST /v2/session" });
        deps.limiters.failedSignIns(client());
      } else deps.limiters.countRequest(caller.workspaceId);
      const begun = caller && (await deps.catalog.sessions.begin(token));
      if (begun === undefined) throw new ApiError("unauthenticated", INVALID_TOKEN);
      const { principal, secret } = begun;
      const { workspaceId, tokenId, expiresAt = Date.now() } = principal;
      deps.logger.info({ workspaceId, tokenId }, "session begun");
      const answer = { session: sessionAnswer(deps, principal) };
      return jsonResponse(answer, 201, sessionCookie(request, secret, expiresAt));
    },
  }),

  route("GET /v2/session", {
    summary: "Tell who a session, or a token, is and what it may",
    needs: [],
    answer: enveloped("session", Session),
    example: { answer: { session: example.session } },
    handle: ({ deps, principal }) => ({ session: sessionAnswer(deps, principal) }),
  }),

  route("DELETE /v2/session", {
    summary: "Sign a browser out: its session ends; does nothing without one",
    needs: "open",
    answer: Type.Undefined(),
    status: 204,
    example: { answer: undefined },
    async handle({ deps, request }) {
      const secret = sessionSecret(request.headers);
      if (secret !== undefined) await deps.catalog.sessions.end(secret);
      const headers = { ...responseHeaders, ...expiredSessionCookie(request) };
      return new Response(null, { status: 204, headers });
    },
  }),
] as const;

function sessionAnswer(
  { catalog }: ApiDeps,
  { workspaceId, tokenId, memberId, permissions, expiresAt }: Principal,
): Static<typeof Session> {
  const { name } = catalog.tokens.get(workspaceId, tokenId);
  const member = memberId === undefined ? undefined : catalog.members.get(workspaceId, memberId);
  return {
    token: { id: tokenId, name },
    ...(member && { member: answerOf(SessionMember, member) }),
    workspace: { id: workspaceId, name: catalog.workspaces.get(workspaceId)?.name ?? "" },
    permissions: [...permissions],
    ...(expiresAt !== undefined && { expiresAt: isoTime(expiresAt) }),
  };
}
