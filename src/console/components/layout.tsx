import { type ComponentChildren, Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Permission } from "../data/model.ts";
import { missingPermission } from "../data/session.ts";
import type { LoadedResource } from "../data/use-resource.ts";
import { currentRoute, hrefTo } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { ErrorNotice } from "./error-notice.tsx";
import { Icon, type IconName } from "./icon.tsx";
import { screenGuides } from "./screen-guides.ts";

/** Title of a screen, with buttons for its actions. */
export function ScreenHeader(props: {
  title: string;
  /** Link to the parent screen. On the page of an item, the parent is the list of items. */
  parent?: { href: string; text: string };
  children?: ComponentChildren;
  /** Badges next to the title. */
  status?: ComponentChildren;
}) {
  const { title, parent, children, status } = props;
  useEffect(() => {
    document.title = commonTexts.pageTitle(title);
  }, [title]);
  return (
    <div class="head">
      <div class="titles">
        {parent && (
          <a class="parent small" href={parent.href}>
            {parent.text}
          </a>
        )}
        <div class="row">
          <h1>{title}</h1>
          {status}
        </div>
      </div>
      <div class="actions">
        {children}
        <HistoryLink />
        <DocsLink />
      </div>
    </div>
  );
}

export function Panel(props: {
  title?: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
  /** Whether the content reaches to the edges of the panel, as a table does. */
  flush?: boolean;
}) {
  const { title, actions, children, flush } = props;
  return (
    <section class="panel">
      {title !== undefined && (
        <header>
          <h2>{title}</h2>
          {actions}
        </header>
      )}
      {flush ? children : <div class="inside">{children}</div>}
    </section>
  );
}

export interface EmptyText {
  icon: IconName;
  title: string;
  text: ComponentChildren;
  action?: ComponentChildren;
}

/** Notice in place of an empty list. It says what the list is for, and offers the next step. */
export function EmptyState({ icon, title, text, action }: EmptyText) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      <p>{text}</p>
      {action}
    </div>
  );
}

export type Tone = "good" | "warn" | "bad" | "accent";

export function Badge(props: {
  tone?: Tone | undefined;
  flat?: boolean;
  children: ComponentChildren;
}) {
  const { tone, flat, children } = props;
  return <span class={["badge", tone, flat && "flat"].filter(Boolean).join(" ")}>{children}</span>;
}

/** Row of figures, each below its name. An undefined figure is shown as a dash. */
export function StatList(props: {
  figures: readonly (readonly [name: string, figure: string | undefined])[];
  class?: string;
}) {
  return (
    <dl class={`figures ${props.class ?? ""}`}>
      {props.figures.map(([label, figure]) => (
        <div key={label}>
          <dt class="quiet small">{label}</dt>
          <dd>{figure ?? "–"}</dd>
        </div>
      ))}
    </dl>
  );
}

export type Fact = readonly [name: string, value: ComponentChildren];

/** List of names and values, with one pair per row. A falsy entry in `facts` has no row. */
export function FactList({ facts }: { facts: readonly (Fact | undefined | false | "")[] }) {
  return (
    <dl class="facts">
      {facts.map(
        (fact) =>
          fact && (
            <Fragment key={fact[0]}>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </Fragment>
          ),
      )}
    </dl>
  );
}

/** Placeholder for a line of text while it is loading. */
export function SkeletonLine({ width = 60 }: { width?: number }) {
  const style = { width: `${width}%` };
  return <span class="skeleton-line" style={style} />;
}

/** Placeholder for a screen while it is loading. */
export function Skeleton() {
  return (
    <div class="skeleton" aria-busy="true">
      <SkeletonLine width={30} />
      <SkeletonLine width={80} />
      <SkeletonLine width={60} />
    </div>
  );
}

/** Links to a screen's tabs. If the session lacks the permission for a tab, its link has a hint. */
export function Tabs(props: {
  tabs: readonly { name: string; text: string; needs?: Permission }[];
  current: string;
  hrefOf: (name: string) => string;
}) {
  const { tabs, current, hrefOf } = props;
  return (
    <nav class="tabs" aria-label={commonTexts.tabs}>
      {tabs.map(({ name, text, needs }) => (
        <a
          key={name}
          href={hrefOf(name)}
          aria-current={name === current ? "page" : undefined}
          {...requirementOf(missingPermission(needs))}
        >
          {text}
        </a>
      ))}
    </nav>
  );
}

/**
 * Returns attributes that tell the user that a link leads to a screen for which the session lacks
 * the permission `missing`. Returns none if `missing` is undefined.
 */
export function requirementOf(missing: Permission | undefined) {
  if (missing === undefined) return {};
  const text = commonTexts.requires(missing);
  return { "aria-description": text, "data-tip": text };
}

/** Row of buttons of which exactly one is selected, to choose one of several values. */
export function SegmentedControl<T extends string>(props: {
  label: string;
  value: T;
  options: readonly { value: T; text: string }[];
  onChange: (value: T) => void;
}) {
  const { label, value, options, onChange } = props;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset draws its own frame
    <div class="segments" role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.text}
        </button>
      ))}
    </div>
  );
}

/** Notice in place of a screen's content. It says that the content needs `permission`. */
export function PermissionRequired({ permission }: { permission: Permission }) {
  return (
    <EmptyState
      icon="info"
      title={commonTexts.requires(permission)}
      text={commonTexts.permissionHint}
    />
  );
}

/** Link to the documentation page that explains the current screen. */
function DocsLink() {
  const [screen = ""] = currentRoute.value.segments;
  const page = screenGuides[screen];
  if (page === undefined) return null;
  return (
    <a class="small" href={`/docs/guide/${page}`} target="_blank" rel="noreferrer">
      {commonTexts.guide}
    </a>
  );
}

/** Names of the screens that have pages for single items, with routes such as `sources/ID`. */
const itemScreens = ["sources", "destinations", "transformations", "libraries"];

/** Link from the page of an item to the audit log of this item. */
function HistoryLink() {
  const [screen = "", id] = currentRoute.value.segments;
  if (id === undefined || id === "new" || !itemScreens.includes(screen)) return null;
  if (missingPermission("audit:read") !== undefined) return null;
  return (
    <a class="small" href={hrefTo("audit", { resource: id })}>
      {commonTexts.auditLog}
    </a>
  );
}

/**
 * Shows a fetched value. It shows a placeholder while the value is loading, and an error with a
 * button to retry after a failure.
 */
export function Loaded<T>(props: {
  resource: LoadedResource<T>;
  placeholder?: ComponentChildren;
  children: (value: T) => ComponentChildren;
}) {
  const { resource, placeholder = <Skeleton />, children } = props;
  const { value, error, reload } = resource;
  return (
    <>
      <ErrorNotice error={error} retry={reload} />
      {value === undefined ? error === undefined && placeholder : children(value)}
    </>
  );
}

/** Shows the first two lines of a text, and a button for the rest if there is more. */
export function ClampedText({ text, tone = "" }: { text: string; tone?: "bad" | "quiet" | "" }) {
  const content = useRef<HTMLSpanElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [isCut, setCut] = useState(false);
  useEffect(() => {
    const shown = content.current;
    if (shown === null) return;
    const observer = new ResizeObserver(() => {
      if (shown.classList.contains("clamp")) setCut(shown.scrollHeight > shown.clientHeight + 1);
    });
    observer.observe(shown);
    return () => observer.disconnect();
  }, [text]);
  return (
    <>
      <span ref={content} class={`${isOpen ? "whole" : "clamp"} ${tone}`}>
        {text}
      </span>
      {(isCut || isOpen) && (
        <button type="button" class="more" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? commonTexts.showLess : commonTexts.showAll}
        </button>
      )}
    </>
  );
}
