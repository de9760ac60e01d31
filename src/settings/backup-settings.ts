import { Type } from "@sinclair/typebox";
import { BACKUP_SECONDS_MAX, BACKUPS_KEPT_MAX } from "./limits.ts";

/** Settings of the backups that a server makes by itself, as a part of `configSchema`. */
export const backupSettings = {
  "backup.every": Type.Integer({
    default: 0,
    minimum: 0,
    maximum: BACKUP_SECONDS_MAX,
    description:
      "seconds from one backup to the next that the server makes by itself; 0 makes none",
  }),
  "backup.keep": Type.Integer({
    default: 7,
    minimum: 1,
    maximum: BACKUPS_KEPT_MAX,
    description: "number of these backups to keep; the oldest are deleted",
  }),
  "backup.directory": Type.Optional(
    Type.String({
      minLength: 1,
      description: "directory for these backups, of this server alone, on another disk than `data`",
    }),
  ),
};
