import { expect, test } from "bun:test";
import { openListener, WRITE_KEY } from "./harness.ts";

/** The page's snippet, run with the few things of a browser that it uses. */
test("the snippet of docs/pixels.md sends an image for each event, and a beacon when the page is left", async () => {
  const text = await Bun.file("docs/pixels.md").text();
  const script = /```html\n<script>\n(.*?)<\/script>/s.exec(text)![1]!;
  const server = openListener();
  const code = script
    .replace("https://pixels.example.com", server.url)
    .replace('"WRITE_KEY"', JSON.stringify(WRITE_KEY));

  const asked: { method: string; url: string }[] = [];
  const document = { visibilityState: "visible" };
  const listeners = new Map<string, () => void>();
  class Image {
    set src(url: string) {
      asked.push({ method: "GET", url });
    }
  }
  const navigator = { sendBeacon: (url: string) => asked.push({ method: "POST", url }) };
  const add = (type: string, listener: () => void) => listeners.set(type, listener);
  const names = ["Image", "navigator", "document", "location", "addEventListener"];
  const page = new Function(...names, code);

  for (let load = 0; load < 2; load++) page(Image, navigator, document, { pathname: "/" }, add);
  listeners.get("visibilitychange")!();
  document.visibilityState = "hidden";
  listeners.get("visibilitychange")!();
  expect(asked.map(({ method }) => method)).toEqual(["GET", "GET", "POST"]);
  expect(new Set(asked.map(({ url }) => url)).size).toBe(3);
  for (const { method, url } of asked) {
    expect((await fetch(url, { method })).status).toBe(200);
  }
  const [first, , last] = server.events();
  expect(first).toMatchObject({ type: "page", name: "Home", properties: { path: "/" } });
  expect(last).toMatchObject({ type: "track", event: "Left" });
  await server.stop();
});
