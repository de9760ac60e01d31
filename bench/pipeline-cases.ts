/** Events and transformations of bench/pipeline.ts. */

export interface Case {
  name: string;
  type: "webhook" | "file";
  /** Events per webhook request. */
  batchSize: number;
  transform: boolean;
  /** Approximate size of an event in bytes. */
  bytes: number;
}

const webhook = { type: "webhook", transform: true, bytes: 1_100 } as const;
const file = { type: "file", batchSize: 0, bytes: 1_100 } as const;
export const cases: Case[] = [
  { ...file, name: "file", transform: false },
  { ...file, name: "file, JavaScript", transform: true },
  { ...webhook, name: "webhook by 1", batchSize: 1, transform: false },
  { ...webhook, name: "webhook by 1, JavaScript", batchSize: 1 },
  { ...webhook, name: "webhook by 100, JavaScript", batchSize: 100 },
  { ...webhook, name: "webhook by 100, JavaScript, 30 KB", batchSize: 100, bytes: 30_000 },
];

/** Query of RudderStack's AMP example: 25 parameters. */
const QUERY =
  "anonymousId=anon-@U&userId=user-@U&event=Product%20Viewed&name=Checkout" +
  "&context.library.name=Rudderstack%20AMP%20SDK&context.library.version=1.0.0" +
  "&context.platform=AMP&context.locale=en-GB" +
  "&context.userAgent=Mozilla%2F5.0%20(X11%3B%20Linux%20x86_64)%20AppleWebKit%2F537.36" +
  "&context.screen.width=1920&context.screen.height=1080&context.page.path=%2Fproducts%2Fshoes" +
  "&context.page.url=https%3A%2F%2Fshop.example.com%2Fproducts%2Fshoes%3Fcolor%3Dred" +
  "&context.page.referrer=https%3A%2F%2Fwww.google.com%2F" +
  "&context.page.title=Red%20Shoes%20%E2%80%93%20Example" +
  "&context.traits.email=someone%40example.com&context.traits.plan=pro" +
  "&properties.product_id=sku-12345&properties.category=Shoes&properties.price=29.99" +
  "&properties.quantity=2&properties.currency=EUR&properties.items.0.price=9.5" +
  "&properties.items.1.price=3&properties.t0=@T";
const TEXT = "0123456789abcdef".repeat(64);

export function pixelOf(writeKey: string, { bytes }: Case): string {
  const texts = Array.from({ length: Math.floor(bytes / 1_100) - 1 }, (_, n) => {
    return `&properties.text${n}=${TEXT}`;
  });
  return `/pixel/v1/track?writeKey=${writeKey}&${QUERY}${texts.join("")}`;
}

export const library = `const EMAIL = /^([^@]{1,3})[^@]*(@.*)$/;
export function mask(email) {
  return typeof email === "string" ? email.replace(EMAIL, "$1***$2") : email;
}
export function total(items) {
  let sum = 0;
  for (const item of items ?? []) sum += (item.price ?? 0) * (item.quantity ?? 1);
  return Math.round(sum * 100) / 100;
}
`;

export const code = `import { mask, total } from "shopKit";
const PAID = new Set(["pro", "team", "enterprise"]);
export function transformEvent(event, metadata) {
  const p = event.properties ?? (event.properties = {});
  if (p.internal === true) return null;
  const t = event.context?.traits;
  if (t?.email) t.email = mask(t.email);
  p.total = total(p.items);
  p.paying = PAID.has(t?.plan ?? p.plan);
  p.path = String(event.context?.page?.url ?? "").replace(/[?#].*$/, "");
  event.sourceId = metadata(event).sourceId;
  return event;
}
`;
