const ofEndpoint = "check backup.s3.endpoint and backup.s3.region";
const ofKey = "check backup.s3.access.key and backup.s3.secret.key";

/** Advice for the operator, by the error code in the store's answer. */
const advice: Record<string, string> = {
  InvalidAccessKeyId: ofKey,
  XAdminUserNotFound: ofKey,
  SignatureDoesNotMatch: ofKey,
  ExpiredToken: ofKey,
  AccountProblem: ofKey,
  RequestTimeTooSkewed: "set the clock of this server",
  NoSuchBucket: "create it, or change backup.s3.bucket",
  PermanentRedirect: ofEndpoint,
  TemporaryRedirect: ofEndpoint,
  AuthorizationHeaderMalformed: ofEndpoint,
  IllegalLocationConstraintException: ofEndpoint,
  QuotaExceeded: "make space in the store, or keep fewer with backup.keep",
  InsufficientStorage: "make space in the store, or keep fewer with backup.keep",
  XMinioStorageFull: "make space in the store, or keep fewer with backup.keep",
  NoSuchKey: "s3://BUCKET/PREFIX/ names the newest backup",
};

/** Returns advice about a failed request that needs `permission`, by its status and code. */
export function adviceOf(
  code: string | undefined,
  status: number | undefined,
  permission: string,
): string {
  const known = code === undefined ? undefined : advice[code];
  if (known !== undefined) return known;
  if (status === 403) return `give the access key the permission ${permission}`;
  if (status === 404) return advice.NoSuchKey!;
  if (status === undefined) return ofEndpoint;
  return status >= 500 || status === 429
    ? "it is tried again at the next backup"
    : "the store's documentation explains the code";
}
