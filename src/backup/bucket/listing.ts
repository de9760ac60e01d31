/** An object in a bucket. */
export interface ListedObject {
  key: string;
  bytes: number;
}

/** A multipart upload that is neither completed nor aborted. */
interface OpenUpload {
  key: string;
  uploadId: string;
}

/**
 * One page of a list from the store. `next` has the query parameters for the next page. It is
 * undefined on the last page.
 */
export interface Page<T> {
  items: T[];
  next: Record<string, string> | undefined;
}

/** Parses a page of `ListObjectsV2`. */
export function listPage(xml: string): Page<ListedObject> {
  const items = elements(xml, "Contents").flatMap((element) => {
    const key = textOf(element, "Key");
    const bytes = Number(textOf(element, "Size"));
    return key === undefined || !Number.isSafeInteger(bytes) ? [] : [{ key, bytes }];
  });
  const token = textOf(xml, "NextContinuationToken");
  const next = token === undefined ? undefined : { "continuation-token": token };
  return { items, next };
}

/** Parses a page of `ListMultipartUploads`. */
export function uploadsPage(xml: string): Page<OpenUpload> {
  const items = elements(xml, "Upload").flatMap((element) => {
    const key = textOf(element, "Key");
    const uploadId = textOf(element, "UploadId");
    return key === undefined || uploadId === undefined ? [] : [{ key, uploadId }];
  });
  if (textOf(xml, "IsTruncated") !== "true") return { items, next: undefined };
  const [key, id] = [textOf(xml, "NextKeyMarker"), textOf(xml, "NextUploadIdMarker")];
  const next = { "key-marker": key ?? "", "upload-id-marker": id ?? "" };
  return { items, next: key === undefined ? undefined : next };
}

/**
 * Returns the text in the first element with this name. Undefined if there is no such element, or
 * if it is empty.
 */
export function textOf(xml: string, name: string): string | undefined {
  const content = elements(xml, name, 1)[0]?.trim();
  return content ? unescaped(content) : undefined;
}

/** Returns the contents of at most the first `most` elements with this name. */
function elements(xml: string, name: string, most = Number.POSITIVE_INFINITY): string[] {
  const found: string[] = [];
  const [begin, end] = [`<${name}>`, `</${name}>`];
  for (let at = xml.indexOf(begin); at !== -1 && found.length < most; ) {
    const from = at + begin.length;
    const to = xml.indexOf(end, from);
    if (to === -1) break;
    found.push(xml.slice(from, to));
    at = xml.indexOf(begin, to + end.length);
  }
  return found;
}

const entities: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  "#34": '"',
  "#39": "'",
};

const unescaped = (text: string) =>
  text.replace(/&(amp|lt|gt|quot|apos|#34|#39);/g, (_, name: string) => entities[name]!);
