/**
 * Paths of products that RudderStack's cloud has and pixelmill does not, with the name of the
 * product. RudderStack's clients request them.
 */
const products: readonly [path: RegExp, name: string][] = [
  [/^\/v2\/catalog\/tracking-plans(?:\/|$)/, "tracking plans"],
  [/^\/v2\/catalog(?:\/|$)/, "data catalog"],
  [/^(?:\/v2)?\/(?:accounts|account-definitions)(?:\/|$)/, "accounts"],
  [/^\/v2\/retl-(?:sources|connections)(?:\/|$)/, "reverse ETL"],
  [/^\/v2\/data-graphs(?:\/|$)/, "data graphs"],
];

/**
 * The message for a request to a product that pixelmill does not have; undefined for other paths.
 * RudderStack's clients recognize its beginning.
 */
export function cloudOnlyMessage(path: string): string | undefined {
  const product = products.find(([pattern]) => pattern.test(path));
  return product && `Feature is not enabled for your account: pixelmill has no ${product[1]}`;
}
