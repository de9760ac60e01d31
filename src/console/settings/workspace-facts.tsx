import { CopyButton } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Panel, SkeletonLine } from "../components/layout.tsx";
import { Time } from "../components/time.tsx";
import { client, session } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { PermissionBadges } from "./permissions.tsx";

/** The workspace, and what the reader may do in it. */
export function Workspace() {
  const { value, error, reload } = useResource(
    async () => (await client.call("GET /v2/workspace")).workspace,
    [],
  );
  const who = session.value;
  return (
    <div class="columns even">
      <Panel title="Workspace">
        <ErrorNotice error={error} retry={reload} />
        {value ? (
          <dl class="facts">
            <dt>Name</dt>
            <dd>{value.name}</dd>
            <dt>Id</dt>
            <dd>
              <code>{value.id}</code>
              <CopyButton text={value.id} what="id" />
            </dd>
            <dt>Pixels go to</dt>
            <dd>
              <code>{value.dataPlaneURL}</code>
              <CopyButton text={value.dataPlaneURL} what="address" />
            </dd>
          </dl>
        ) : (
          <SkeletonLine />
        )}
      </Panel>
      <Panel title="You">
        <dl class="facts">
          <dt>Member</dt>
          <dd>{who?.member ? `${who.member.name} (${who.member.email})` : "A service token"}</dd>
          <dt>Token</dt>
          <dd>{who?.token.name}</dd>
          {who?.expiresAt && (
            <>
              <dt>Signed in until</dt>
              <dd>
                <Time at={who.expiresAt} />
              </dd>
            </>
          )}
          <dt>Permissions</dt>
          <dd>
            <PermissionBadges of={who?.permissions ?? []} />
          </dd>
        </dl>
      </Panel>
    </div>
  );
}
