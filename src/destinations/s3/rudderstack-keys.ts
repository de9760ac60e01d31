import { optionalFlag } from "../../settings/schema-types.ts";
import { ignoredKey, uncheckedKey } from "../config-schema.ts";
import type { RudderstackKeys } from "../rudderstack-form.ts";

/**
 * Describes how the config of an S3 destination is written in RudderStack's keys, for RudderStack's
 * clients.
 */
export const s3RudderstackKeys: RudderstackKeys = {
  schemas: {
    bucketName: uncheckedKey("As `bucket`"),
    accessKeyID: uncheckedKey("As `accessKeyId`"),
    accessKey: uncheckedKey("As `secretAccessKey`"),
    roleBasedAuth: optionalFlag("Only false: needs access keys"),
    iamRoleARN: ignoredKey(),
    // Amazon encrypts every object.
    enableSSE: ignoredKey(),
  },
  names: { bucketName: "bucket", accessKeyID: "accessKeyId", accessKey: "secretAccessKey" },
  unsupported: { roleBasedAuth: "Expected false: pixelmill signs in with access keys, not roles" },
  translate: ({ bucketName, accessKeyID, accessKey, prefix }) => ({
    bucket: bucketName,
    accessKeyId: accessKeyID,
    secretAccessKey: accessKey,
    // RudderStack takes a prefix with slashes at its ends.
    prefix: typeof prefix === "string" ? prefix.replace(/^\/+|\/+$/g, "") || undefined : prefix,
  }),
};
