import type { TestEvent } from "./publisher.ts";

const context = {
  library: { name: "pixelmill", version: "1.0.0" },
  locale: "en-US",
  userAgent: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0",
  screen: { width: 1_920, height: 1_080 },
  page: {
    path: "/products/shoes",
    url: "https://www.example.com/products/shoes",
    referrer: "https://www.example.com/",
    title: "Shoes",
  },
};

const common = {
  channel: "web",
  anonymousId: "b4f5a1de-6d54-4b7e-9c59-6a0d1f0f7c11",
  userId: "user-1",
  context,
  integrations: { All: true },
  originalTimestamp: "2026-01-15T10:00:00.000Z",
  sentAt: "2026-01-15T10:00:00.000Z",
  receivedAt: "2026-01-15T10:00:00.100Z",
  request_ip: "203.0.113.7",
};

/**
 * Default test events: a page event and a track event. They are used when there are no other test
 * events for the code.
 */
export const defaultEvents: readonly TestEvent[] = [
  {
    ...common,
    type: "page",
    messageId: "0b9f5f52-3d0b-4a4e-8a56-0f3b0a6f0001",
    name: "Product",
    properties: { ...context.page, category: "Shoes" },
  },
  {
    ...common,
    type: "track",
    messageId: "0b9f5f52-3d0b-4a4e-8a56-0f3b0a6f0002",
    event: "Product Added",
    properties: { productId: "sku-123", name: "Shoes", price: 29.99, quantity: 2, currency: "USD" },
  },
];
