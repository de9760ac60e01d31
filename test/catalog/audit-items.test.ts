import { expect, onTestFinished, setSystemTime, test } from "bun:test";
import { type Caller, runAs } from "../../src/catalog/audit/caller.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { newId } from "../../src/catalog/ids.ts";
import { destination, freshWorkspace, publish, store } from "./_setup.ts";

const caller: Caller = { client: "192.0.2.1", route: "PUT /thing", requestId: "r1" };
const nothing = { revisions: [], publish: [], links: [], usedLibraries: [] };
const isSecret = true;

/** Entries of an action, or of a type of items, oldest first. */
const entriesOf = (catalog: Catalog, workspaceId: string, action: string) =>
  catalog.audit.find(workspaceId, { action }, { count: 500 }).entries.toReversed();

/** Returns the action, the item, the further items and the changes of audit entries. */
const saidOf = (...of: Parameters<typeof entriesOf>) =>
  entriesOf(...of).map(({ action, resource, concerns, changes }) => {
    return { action, resource, concerns, changes };
  });

test("a workspace and its members are recorded by their fields", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  expect(saidOf(catalog, workspaceId, "workspace")).toEqual([
    {
      action: "workspace.create",
      resource: { type: "workspace", id: workspaceId, name: "Acme" },
      concerns: undefined,
      changes: [{ path: "name", after: "Acme" }],
    },
  ]);
  const person = { name: "Ada", email: "ada@example.com", workspaceRole: "viewer" } as const;
  const { id } = await catalog.members.create(workspaceId, person);
  await catalog.members.update(workspaceId, id, { name: "Ada" });
  const identity = { issuer: "https://id.example", subject: "1" };
  const account = { ...{ name: "Ada", email: person.email, isEmailVerified: true }, identity };
  await catalog.identities.admit(workspaceId, { ...account, role: "admin" });
  await catalog.members.remove(workspaceId, id);
  const [created, kept, admitted, removed] = saidOf(catalog, workspaceId, "member");
  expect(created).toEqual({
    action: "member.create",
    resource: { type: "member", id, name: "Ada" },
    concerns: undefined,
    changes: [
      { path: "name", after: "Ada" },
      { path: "email", after: "ada@example.com" },
      { path: "role", after: "member" },
      { path: "editTransformations", after: false },
      { path: "permissions", after: [] },
      { path: "workspaceRole", after: "viewer" },
    ],
  });
  expect(kept).toMatchObject({ action: "member.update", changes: [] });
  expect(admitted!.changes).toEqual([
    { path: "workspaceRole", before: "viewer", after: "admin" },
    { path: "identity.issuer", after: "https://id.example" },
    { path: "identity.subject", after: "1" },
  ]);
  expect(removed).toMatchObject({ action: "member.delete", resource: { id, name: "Ada" } });
});

test("a token is recorded with its member and the time when it expires, and a credential without its value", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const person = { name: "Ada", email: "ada@example.com" };
  const { id: memberId } = await catalog.members.create(workspaceId, person);
  const expiresAt = Date.UTC(2100, 0);
  const input = { name: "Mine", permissions: [], memberId, expiresAt };
  const { token } = await catalog.tokens.create(workspaceId, input);
  expect(saidOf(catalog, workspaceId, "token")).toEqual([
    {
      action: "token.create",
      resource: { type: "token", id: token.id, name: "Mine" },
      concerns: [memberId],
      changes: [
        { path: "name", after: "Mine" },
        { path: "permissions", after: [] },
        { path: "memberId", after: memberId },
        { path: "expiresAt", after: "2100-01-01T00:00:00.000Z" },
      ],
    },
  ]);
  for (const value of ["one", "two"]) await catalog.credentials.put(workspaceId, "key", value);
  const { items } = catalog.credentials.list(workspaceId, 1);
  await catalog.credentials.remove(workspaceId, items[0]!.id);
  const credential = { type: "credential", id: items[0]!.id, name: "key" };
  expect(saidOf(catalog, workspaceId, "credential")).toMatchObject([
    {
      action: "credential.create",
      resource: credential,
      changes: [
        { path: "name", after: "key" },
        { path: "value", isSecret },
      ],
    },
    { action: "credential.update", changes: [{ path: "value", isSecret }] },
    {
      action: "credential.delete",
      resource: credential,
      changes: [
        { path: "name", before: "key" },
        { path: "value", isSecret },
      ],
    },
  ]);
});

test("a destination's config is recorded as it is shown, and its secrets by name", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const create = (config: object) =>
    catalog.destinations.create(workspaceId, {
      ...{ name: "Sink", type: "webhook", typeAs: "WEBHOOK", config: { ...config } },
    });
  await create({ url: "u" });
  const changesOf = () => saidOf(catalog, workspaceId, "destination").at(-1)!.changes;
  const common = [
    { path: "name", after: "Sink" },
    { path: "type", after: "WEBHOOK" },
    { path: "enabled", after: true },
  ];
  // Nothing says yet which parts are secret.
  expect(changesOf()).toEqual([
    ...common,
    { path: "config", after: {} },
    { path: "config.url", isSecret },
  ]);
  catalog.audit.showConfigsWith((type, { password: _, ...shown }) => ({ ...shown, of: type }));
  const { id } = await create({ url: "u", password: "hidden 1" });
  const shown = [
    { path: "config.url", after: "u" },
    { path: "config.of", after: "webhook" },
  ];
  expect(changesOf()).toEqual([...common, ...shown, { path: "config.password", isSecret }]);
  const update = (config: object) =>
    catalog.destinations.update(workspaceId, id, { config: () => ({ ...config }) }, {});
  await update({ url: "v", password: "hidden 2" });
  expect(changesOf()).toEqual([
    { path: "config.url", before: "u", after: "v" },
    { path: "config.password", isSecret },
  ]);
  await update({ url: "v", password: "hidden 2" });
  expect(changesOf()).toEqual([]);
  const { entries } = catalog.audit.find(workspaceId, {}, { count: 500 });
  expect(JSON.stringify(entries)).not.toContain("hidden");
});

test("a connection, a link and a test case are recorded with the items that they concern", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const source = await catalog.sources.create(workspaceId, { name: "Site" });
  const destinationId = await destination(catalog, workspaceId);
  const pair = { sourceId: source.id, destinationId };
  const connection = await catalog.connections.create(workspaceId, pair, {});
  expect(saidOf(catalog, workspaceId, "connection")).toEqual([
    {
      action: "connection.create",
      resource: { type: "connection", id: connection.id, name: "Site → Sink" },
      concerns: [source.id, destinationId],
      changes: [
        { path: "sourceId", after: source.id },
        { path: "destinationId", after: destinationId },
        { path: "enabled", after: true },
      ],
    },
  ]);
  const revision = await store(catalog, workspaceId, "transformation");
  await publish(catalog, revision);
  await catalog.code.link(workspaceId, revision.id, destinationId);
  const input = { name: "Case", description: "d", input: [] };
  const testCase = await catalog.testCases.add(workspaceId, revision.id, input);
  await catalog.testCases.remove(workspaceId, revision.id, testCase.id);
  await catalog.destinations.remove(workspaceId, destinationId);
  const [link, unlink] = saidOf(catalog, workspaceId, "link");
  const transformationId = revision.id;
  expect(link).toEqual({
    action: "link.create",
    resource: { type: "link", id: destinationId, name: "Sink" },
    concerns: [transformationId],
    changes: [
      { path: "transformationId", after: transformationId },
      { path: "destinationId", after: destinationId },
    ],
  });
  expect(unlink).toMatchObject({ action: "link.delete", resource: { name: "Sink" } });
  expect(saidOf(catalog, workspaceId, "test-case")).toMatchObject([
    {
      action: "test-case.create",
      resource: { type: "test-case", id: testCase.id, name: "Case" },
      concerns: [transformationId],
      changes: [
        { path: "name", after: "Case" },
        { path: "description", after: "d" },
        { path: "versionId", after: testCase.versionId },
      ],
    },
    { action: "test-case.delete", resource: { name: "Case" } },
  ]);
});

test("rules and receivers of alerts are recorded, a receiver's URL by its host alone", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { rules, receivers } = catalog.alerts;
  const rule = await rules.create(workspaceId, {
    ...{ name: "Lag", kind: "lag" as const, enabled: true, threshold: 5, forSeconds: 60 },
    ...{ clearSeconds: 30, subjectIds: [], receiverIds: [] },
    quietHours: { from: "22:00", to: "06:00", timeZone: "Europe/Berlin" },
  });
  const night = { from: "23:00", to: "06:00", timeZone: "Europe/Berlin" };
  await rules.update(workspaceId, rule.id, (it) => ({ ...it, quietHours: night }));
  const [created, updated] = saidOf(catalog, workspaceId, "alert-rule");
  expect(created).toMatchObject({
    action: "alert-rule.create",
    resource: { type: "alert-rule", id: rule.id, name: "Lag" },
  });
  const shown = created!.changes.map(({ path, after }) => [path, after]);
  expect(Object.fromEntries(shown)).toEqual({
    ...{ name: "Lag", kind: "lag", enabled: true, threshold: 5, forSeconds: 60 },
    ...{ clearSeconds: 30, subjectIds: [], receiverIds: [] },
    ...{ "quietHours.from": "22:00", "quietHours.to": "06:00" },
    "quietHours.timeZone": "Europe/Berlin",
  });
  expect(updated!.changes).toEqual([{ path: "quietHours.from", before: "22:00", after: "23:00" }]);

  const url = "https://user:hidden@a.example:8443/hidden";
  const input = { name: "Team", type: "webhook", enabled: true, url } as const;
  const { id } = await receivers.create(workspaceId, input, []);
  const update = (more: object) => receivers.update(workspaceId, id, () => ({ ...input, ...more }));
  await update({ url: "https://a.example:8443/hidden2" });
  await update({ url: "https://b.example/", authorization: "hidden" });
  const [first, second, third] = saidOf(catalog, workspaceId, "alert-receiver");
  expect(first!.resource).toEqual({ type: "alert-receiver", id, name: "Team" });
  expect(first!.changes).toContainEqual({ path: "host", after: "a.example:8443" });
  expect(second!.changes).toEqual([{ path: "url", isSecret }]);
  expect(third!.changes).toEqual([
    { path: "host", before: "a.example:8443", after: "b.example" },
    { path: "url", isSecret },
    { path: "authorization", isSecret },
  ]);
  const { entries } = catalog.audit.find(workspaceId, {}, { count: 500 });
  expect(JSON.stringify(entries)).not.toContain("hidden");
});

test("a session is recorded under its token, unless it has ended by itself", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { token, secret } = await catalog.tokens.create(workspaceId, {
    name: "T",
    permissions: [],
  });
  const begin = async () => (await runAs(caller, () => catalog.sessions.begin(secret)))!;
  const { secret: session, principal } = await begin();
  await runAs(caller, () => catalog.sessions.end(session));
  const after = new Date(principal.expiresAt!).toISOString();
  const entries = entriesOf(catalog, workspaceId, "session");
  expect(entries).toMatchObject([
    { action: "session.begin", changes: [{ path: "expiresAt", after }] },
    { action: "session.end", changes: [{ path: "expiresAt", before: after }] },
  ]);
  for (const { actor, resource, client } of entries) {
    expect(resource).toEqual({ type: "session", id: token.id, name: "T" });
    expect(actor).toEqual({ tokenId: token.id, tokenName: "T" });
    expect(client).toBe("192.0.2.1");
  }
  const old = await begin();
  setSystemTime(old.principal.expiresAt);
  onTestFinished(() => void setSystemTime());
  await catalog.sessions.end(old.secret);
  const actions = saidOf(catalog, workspaceId, "session").map(({ action }) => action);
  expect(actions).toEqual(["session.begin", "session.end", "session.begin"]);
});

test("the reason for a change of code stands in the entry of that change alone", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { code } = catalog;
  const { kind, id, versionId, ...rest } = await store(catalog, workspaceId, "transformation");
  const item = { kind, id, versionId, imports: [] };
  const commit = (note?: string) =>
    code.commit(workspaceId, { ...nothing, publish: [item], ...(note && { note }) });
  const last = () => saidOf(catalog, workspaceId, "transformation").at(-1);
  await commit("Tested");
  const published = { path: "published", after: versionId };
  expect(last()).toMatchObject({
    action: "transformation.publish",
    changes: [published, { path: "note", after: "Tested" }],
  });
  await commit("Again");
  expect(last()).toMatchObject({
    action: "transformation.update",
    changes: [{ path: "note", after: "Again" }],
  });
  expect(code.history({ kind, id, versionId, ...rest }).note).toBe("Again");
  await code.setExternalId(workspaceId, kind, id, "e");
  expect(last()?.changes).toEqual([{ path: "externalId", after: "e" }]);
  const count = saidOf(catalog, workspaceId, "transformation").length;
  await commit();
  expect(saidOf(catalog, workspaceId, "transformation")).toHaveLength(count);
  await code.remove(workspaceId, kind, id);
  const { action, changes } = last()!;
  expect(action).toBe("transformation.delete");
  const gone = changes.map(({ path, after }) => [path, after]);
  expect(gone).toEqual(
    ["name", "description", "language", "revision", "published"].map((path) => [path, undefined]),
  );
});

test("an action outside the catalog has an entry before it begins, and then its outcome", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { audit } = catalog;
  const [id, concerned] = [newId(), newId()];
  const resource = { type: "replay", id, name: "Replay" };
  const parameters = { from: 1, to: undefined };
  const action = { workspaceId, action: "replay.create", resource, concerns: [concerned] };
  const begun = await runAs(caller, () => audit.begin({ ...action, parameters }));
  const entries = () => entriesOf(catalog, workspaceId, "replay");
  expect(entries()).toEqual([begun]);
  expect(begun).toEqual({
    ...{ id: begun.id, at: begun.at, ...action },
    ...{ actor: {}, client: "192.0.2.1", request: { id: "r1", route: "PUT /thing" } },
    ...{ changes: [{ path: "from", after: 1 }], outcome: "unknown" },
  });
  await audit.conclude(begun, { outcome: "failed", reason: "No log", results: { events: 3 } });
  const changes = [...begun.changes, { path: "events", after: 3 }];
  expect(entries()).toEqual([{ ...begun, changes, outcome: "failed", reason: "No log" }]);

  const plain = await audit.begin({ workspaceId, action: "server.stop", parameters: {} });
  const { id: plainId, at } = plain;
  const common = { id: plainId, workspaceId, at, action: "server.stop", actor: {}, changes: [] };
  expect(plain).toStrictEqual({ ...common, outcome: "unknown" });
  await audit.conclude(plain, { outcome: "done" });
  expect(entriesOf(catalog, workspaceId, "server")).toEqual([{ ...common, outcome: "done" }]);
});

test("refused requests are recorded with what is known of their token and client", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { token } = await catalog.tokens.create(workspaceId, { name: "ci", permissions: [] });
  await catalog.audit.addRefused([]);
  const refused = { workspaceId, reason: "Expired token", requests: 3 };
  await catalog.audit.addRefused([
    { ...refused, tokenId: token.id, route: "GET /x", client: "192.0.2.1" },
    { ...refused, addresses: 2 },
  ]);
  const [one, other] = entriesOf(catalog, workspaceId, "token.refuse");
  const common = { workspaceId, action: "token.refuse", changes: [], reason: "Expired token" };
  expect(one).toEqual({
    ...{ id: one!.id, at: one!.at, ...common, requests: 3, client: "192.0.2.1" },
    actor: { tokenId: token.id, tokenName: "ci" },
    request: { id: one!.request!.id, route: "GET /x" },
  });
  expect(other).toEqual({
    ...{ id: other!.id, at: other!.at, ...common, actor: {}, requests: 3, addresses: 2 },
  });
});
