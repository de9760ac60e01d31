import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { Icon, type IconName } from "./icon.tsx";

/** The head of a screen: what it shows, and what can be done there. */
export function ScreenHeader(props: {
  title: string;
  /** The screen above, such as the list that this is one of. */
  way?: { href: string; text: string };
  children?: ComponentChildren;
  /** Beside the title: the state of the thing. */
  beside?: ComponentChildren;
}) {
  const { title, way, children, beside } = props;
  useEffect(() => {
    document.title = `${title} · pixelmill`;
  }, [title]);
  return (
    <div class="head">
      <div class="titles">
        {way && (
          <a class="way" href={way.href}>
            {way.text}
          </a>
        )}
        <div class="row">
          <h1>{title}</h1>
          {beside}
        </div>
      </div>
      <div class="actions">{children}</div>
    </div>
  );
}

export function Panel(props: {
  title?: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
  /** Tables and lists go to the panel's edges. */
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

/** Where nothing is yet: what it is for, and what to do next. */
export function EmptyState(props: {
  icon: IconName;
  title: string;
  children: ComponentChildren;
  action?: ComponentChildren;
}) {
  const { icon, title, children, action } = props;
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      <p>{children}</p>
      {action}
    </div>
  );
}

type Tone = "good" | "warn" | "bad" | "accent";

export function Badge(props: { tone?: Tone; flat?: boolean; children: ComponentChildren }) {
  const { tone, flat, children } = props;
  return <span class={["badge", tone, flat && "flat"].filter(Boolean).join(" ")}>{children}</span>;
}

/** Figures beside one another, each under its name; one that is not there yet is a dash. */
export function StatList(props: {
  figures: readonly (readonly [name: string, figure: string | undefined])[];
  class?: string;
}) {
  return (
    <dl class={`figures ${props.class ?? ""}`}>
      {props.figures.map(([name, figure]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{figure ?? "–"}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Where text will stand, of the same height. */
export function SkeletonLine({ width = 60 }: { width?: number }) {
  const style = { width: `${width}%` };
  return <span class="bone" style={style} />;
}

/** Where a screen will stand: what is shown then is new, and moves nothing. */
export function Skeleton() {
  return (
    <div class="skeleton" aria-busy="true">
      <SkeletonLine width={30} />
      <SkeletonLine width={80} />
      <SkeletonLine width={60} />
    </div>
  );
}

export function Tabs(props: { tabs: { href: string; text: string; current: boolean }[] }) {
  return (
    <nav class="tabs" aria-label="Parts of this screen">
      {props.tabs.map(({ href, text, current }) => (
        <a key={href} href={href} aria-current={current ? "page" : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}

/** One of a few. */
export function SegmentedControl<T extends string>(props: {
  label: string;
  value: T;
  options: readonly { value: T; text: string }[];
  onChange: (value: T) => void;
}) {
  const { label, value, options, onChange } = props;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a frame of its own
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
