import { afterAll, mock } from "bun:test";
import { h, options, render } from "preact";

/** Globals of a page that the console's modules use, for tests of their logic without a browser. */

class Storage {
  readonly #items = new Map<string, string>();
  getItem = (key: string) => this.#items.get(key) ?? null;
  setItem = (key: string, value: string) => void this.#items.set(key, value);
  removeItem = (key: string) => void this.#items.delete(key);
}

/** A request that the page has sent. */
export interface Asked {
  route: string;
  query: Record<string, string>;
  body: any;
  headers: Headers;
  /** Aborts when the page gives the request up. */
  signal: AbortSignal;
}

/**
 * Event targets of all pages: a module of the console listens when it is loaded, which is once for
 * all files of a process.
 */
const [windowEvents, documentEvents] = [new EventTarget(), new EventTarget()];

export class Page {
  readonly addEventListener = windowEvents.addEventListener.bind(windowEvents);
  readonly dispatchEvent = windowEvents.dispatchEvent.bind(windowEvents);
  readonly document = Object.assign(documentEvents, {
    hidden: false,
    documentElement: { style: {}, dataset: {} as Record<string, string> },
  });
  readonly location = { hash: "", reload: () => {} };
  readonly history = {
    replaceState: (_: unknown, __: string, href: string) => {
      this.location.hash = href;
    },
  };
  readonly localStorage = new Storage();
  readonly sessionStorage = new Storage();
  readonly asked: Asked[] = [];
  /** Answers the requests of the page. */
  answer: (asked: Asked) => unknown = () => ({});

  readonly fetch = async (url: string, request: RequestInit = {}) => {
    const { method = "GET", body, headers, signal } = request;
    const { pathname, searchParams } = new URL(url, "http://console");
    const asked = {
      route: `${method} ${pathname}`,
      query: Object.fromEntries(searchParams),
      body: body === undefined ? undefined : JSON.parse(body as string),
      headers: new Headers(headers),
      signal: signal!,
    };
    this.asked.push(asked);
    const answer = await this.answer(asked);
    return answer instanceof Response ? answer : Response.json(answer ?? {});
  };
}

/** Replaces the globals of a page until the tests of this file have ended. */
export function startPage(): Page {
  const page = new Page();
  const globals: Record<string, unknown> = {
    document: page.document,
    location: page.location,
    history: page.history,
    localStorage: page.localStorage,
    sessionStorage: page.sessionStorage,
    fetch: page.fetch,
    addEventListener: page.addEventListener,
  };
  const own = Object.keys(globals).map((name) => {
    return [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const;
  });
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
  afterAll(() => {
    for (const [name, it] of own) {
      if (it === undefined) Reflect.deleteProperty(globalThis, name);
      else Object.defineProperty(globalThis, name, it);
    }
  });
  return page;
}

// Bun reads the runtime of JSX from the tsconfig of the working directory alone.
mock.module("react/jsx-dev-runtime", () => import("preact/jsx-dev-runtime"));
options.debounceRendering = queueMicrotask;
options.requestAnimationFrame = (callback) => queueMicrotask(callback);

/** Runs a hook in a component, which shows nothing. */
export function renderHook<T>(hook: () => T) {
  const shown: { value?: T } = {};
  const Component = ({ latest }: { latest: () => T }) => {
    shown.value = latest();
    return null;
  };
  const parent = { nodeType: 1, childNodes: [], firstChild: null } as unknown as Element;
  const show = (latest: () => T) => render(h(Component, { latest }), parent);
  show(hook);
  return {
    get current() {
      return shown.value as T;
    },
    /** Renders again, with other inputs of the hook. */
    show,
    /** Ends the component, with the effects of the hook. */
    async close(): Promise<void> {
      render(null, parent);
      await settled();
    },
  };
}

/** Waits until requests are answered and states are set. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 40; turn++) await Promise.resolve();
}
