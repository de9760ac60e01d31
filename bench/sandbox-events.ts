/** Creates distinct page events of about 1.7 KB with the fields of a pixel event. */
export function benchEvents(count: number): string[] {
  return Array.from({ length: count }, (_, n) =>
    JSON.stringify({
      type: "page",
      channel: "web",
      messageId: crypto.randomUUID(),
      anonymousId: `anonymous-${n}`,
      userId: `user-${n % 97}`,
      name: `Product page ${n}`,
      properties: {
        path: `/products/${n}`,
        url: `https://shop.example.com/products/${n}?utm_source=newsletter&utm_medium=email`,
        referrer: "https://shop.example.com/categories/outdoor/tents-and-shelters",
        title: `Tent number ${n}: light, dry and quick to set up`,
        price: 199.5 + n,
        currency: "EUR",
        quantity: (n % 5) + 1,
        tags: ["outdoor", "tents", "sale", `brand-${n % 31}`],
        items: [0, 1, 2].map((item) => ({
          sku: `sku-${n}-${item}`,
          name: `Item ${item} of product ${n}`,
          price: 10.25 * (item + 1),
          available: item % 2 === 0,
        })),
      },
      context: {
        library: { name: "pixelmill", version: "1.0.0" },
        platform: "web",
        locale: "en-GB",
        userAgent:
          "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
        screen: { width: 1920, height: 1080 },
        page: {
          path: `/products/${n}`,
          url: `https://shop.example.com/products/${n}`,
          referrer: "https://shop.example.com/",
          title: `Tent number ${n}`,
        },
        campaign: { source: "newsletter", medium: "email", name: `week-${n % 52}` },
      },
      integrations: { All: true },
      originalTimestamp: "2026-11-20T08:00:00.000Z",
      sentAt: "2026-11-20T08:00:00.000Z",
      receivedAt: "2026-11-20T08:00:00.123Z",
      request_ip: "203.0.113.7",
    }),
  );
}

/** Typical transformation: reads, computes, adds and removes fields, drops a few events. */
export const benchCode = `export function transformEvent(event) {
  const { properties, context } = event;
  if (properties.quantity === 0) return null;
  properties.revenue = Math.round(properties.price * properties.quantity * 100) / 100;
  properties.host = properties.url.split("/")[2];
  context.mobile = /Mobile|Android/.test(context.userAgent);
  context.campaign.id = context.campaign.source + ":" + context.campaign.name.toLowerCase();
  properties.cheapest = properties.items.reduce((min, item) => Math.min(min, item.price), Infinity);
  delete event.request_ip;
  return event;
}`;
