import { ApiError } from "../../errors.ts";
import {
  CREDENTIAL_NAME_CHARS_MAX,
  CREDENTIAL_VALUE_CHARS_MAX,
  CREDENTIAL_VALUES_CHARS_MAX,
} from "../../settings/limits.ts";
import { newId } from "../ids.ts";
import type { CatalogStore } from "../store.ts";
import type { Tables } from "../tables/tables.ts";
import type { ItemLimits } from "./item-limits.ts";
import { changeTime, newItem } from "./item-times.ts";

const nameShape = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Credentials: named secrets that user code reads. The API writes their values and never returns
 * them; delivery reads them with `Live`.
 */
export function openCredentials(store: CatalogStore, { credentials }: Tables, limits: ItemLimits) {
  function moved(workspaceId: string): void {
    credentials.stamps.put(workspaceId, newId());
    store.advance("program");
  }

  /**
   * Throws if the new `value` of the credential `name` would make all values of the workspace too
   * long in total. A value that is not longer than the old one is always allowed.
   */
  function expectRoomForValue(workspaceId: string, name: string, value: string): void {
    const values = credentials.values(workspaceId);
    const before = Object.hasOwn(values, name) ? values[name]!.length : 0;
    if (value.length <= before) return;
    const chars = Object.values(values).reduce((sum, { length }) => sum + length, 0);
    if (chars - before + value.length > CREDENTIAL_VALUES_CHARS_MAX) {
      const message = `Expected at most ${CREDENTIAL_VALUES_CHARS_MAX} characters of all credentials of the workspace`;
      throw new ApiError("invalid", `${message} at /value`, [{ path: "/value", message }]);
    }
  }

  return {
    async put(workspaceId: string, name: string, value: string) {
      check(name, value);
      return store.change(() => {
        const before = credentials.byName(workspaceId, name);
        if (before === undefined) limits.expectRoom(workspaceId, "credentials");
        expectRoomForValue(workspaceId, name, value);
        const credential = before
          ? { ...before, updatedAt: changeTime(before) }
          : newItem(workspaceId, { name });
        credentials.putValue(credential, value);
        moved(workspaceId);
        return credential;
      });
    },
    get: credentials.get,
    list: credentials.list,
    remove(workspaceId: string, id: string) {
      return store.change(() => {
        credentials.remove(credentials.get(workspaceId, id));
        moved(workspaceId);
      });
    },
  };
}

function check(name: string, value: string): void {
  if (!nameShape.test(name) || name.length > CREDENTIAL_NAME_CHARS_MAX) {
    const message = `Expected 1 to ${CREDENTIAL_NAME_CHARS_MAX} letters, digits or underscores, no digit first`;
    throw new ApiError("invalid", `${message} at /name`, [{ path: "/name", message }]);
  }
  if (value.length > CREDENTIAL_VALUE_CHARS_MAX) {
    const message = `Expected at most ${CREDENTIAL_VALUE_CHARS_MAX} characters`;
    throw new ApiError("invalid", `${message} at /value`, [{ path: "/value", message }]);
  }
}
