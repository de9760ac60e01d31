const HEX_DIGITS = 32;

/** A text of hexadecimal digits that differs from event to event, as ids do. */
function idOf(index: number, salt: number): string {
  const hash = new Bun.CryptoHasher("md5").update(`${index}:${salt}`).digest("hex");
  return hash.slice(0, HEX_DIGITS).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** A track event of 1 KB, with the members that RudderStack's JavaScript SDK sends. */
export function trackEvent(index: number): object {
  const time = new Date(Date.UTC(2026, 10, 20, 7, 31, 5, index)).toISOString();
  return {
    type: "track",
    event: "Product Viewed",
    messageId: idOf(index, 1),
    anonymousId: idOf(index % 20, 2),
    userId: `user-${84_213 + (index % 20)}`,
    channel: "web",
    originalTimestamp: time,
    sentAt: time,
    integrations: { All: true },
    properties: {
      product_id: `sku-${12_345 + index}`,
      category: "Shoes",
      price: 29.99 + index,
      quantity: 2,
      currency: "EUR",
      coupon: "SUMMER-26-10",
      items: [{ id: "a1" }, { id: "b2" }],
    },
    context: {
      sessionId: 1_763_623_865_123 + index,
      library: { name: "RudderLabs JavaScript SDK", version: "3.34.1" },
      userAgent: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/142.0.7444",
      locale: "en-GB",
      screen: { width: 1_920, height: 1_080, density: 2, innerWidth: 1_680, innerHeight: 910 },
      page: {
        path: "/products/shoes",
        url: `https://shop.example.com/products/shoes?color=red&n=${index}`,
        referrer: "https://www.google.com/",
        title: "Red Shoes – Example",
        tab_url: "https://shop.example.com/products/shoes",
      },
    },
  };
}

/** The body of a batch of events, as RudderStack's server SDKs send it. */
export function batchBody(events: number): Buffer {
  const batch = Array.from({ length: events }, (_, index) => trackEvent(index));
  return Buffer.from(JSON.stringify({ batch, sentAt: "2026-11-20T07:31:05.123Z" }));
}
