/**
 * Products that only RudderStack's cloud has. `path` matches the requests that RudderStack's
 * clients send for the product.
 */
const products: readonly [path: RegExp, name: string][] = [
  [/^\/v2\/catalog\/tracking-plans(?:\/|$)/, "tracking plans"],
  [/^\/v2\/catalog(?:\/|$)/, "data catalog"],
  [/^(?:\/v2)?\/(?:accounts|account-definitions)(?:\/|$)/, "accounts"],
  [/^\/v2\/retl-(?:sources|connections)(?:\/|$)/, "reverse ETL"],
  [/^\/v2\/data-graphs(?:\/|$)/, "data graphs"],
];

/**
 * Returns the error message for a request to a product that only RudderStack's cloud has. Undefined
 * for other paths. RudderStack's clients recognize the message by its beginning.
 */
export function cloudOnlyMessage(path: string): string | undefined {
  const product = products.find(([pattern]) => pattern.test(path));
  return product && `Feature is not enabled for your account: pixelmill has no ${product[1]}`;
}
