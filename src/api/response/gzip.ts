/** Whether a client takes an answer that is compressed with gzip (header Accept-Encoding). */
export function takesGzip(headers: Headers): boolean {
  const accepted = headers.get("accept-encoding") ?? "";
  const found = /(?:^|,)\s*gzip\s*(?:;\s*q=([^,]*))?(?:,|$)/i.exec(accepted);
  return found !== null && Number(found[1] ?? 1) > 0;
}
