import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Badge } from "../components/layout.tsx";
import { Name } from "../components/name.tsx";
import type { Overview } from "../data/model.ts";
import { DestinationStateBadge } from "../destinations/destination-state.tsx";
import { formatRate } from "../format.ts";
import { hrefTo } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { overviewTexts } from "../texts/overview.ts";
import { buildFlowGraph, type FlowEdge, PASS_THROUGH } from "./flow-graph.ts";

/**
 * Height of a node with the gap below it, in pixels. The height is fixed, so that edges can be
 * drawn without measuring nodes. The style sheet has the same height and gap.
 */
const ROW_HEIGHT = 72;
const NODE_HEIGHT = 60;
const GAP_WIDTH = 104;

/**
 * Graph of the flow of events from sources through transformations to destinations, with the event
 * rate of each node. Hovering an edge shows its rate or, if events fail, the rate of failures.
 */
export function FlowGraphView({ overview }: { overview: Overview }) {
  const { sources, transformations, destinations, edges } = useMemo(
    () => buildFlowGraph(overview),
    [overview],
  );
  const height = Math.max(sources.length, transformations.length, destinations.length) * ROW_HEIGHT;
  const { totals } = overview;
  return (
    <>
      {totals.destinations > destinations.length && (
        <p class="quiet small">
          {overviewTexts.graphCut(destinations.length, totals.destinations)}
        </p>
      )}
      <div class="graph">
        <Nodes
          title={commonTexts.sources}
          screen="sources"
          hidden={totals.sources - sources.length}
        >
          {sources.map(({ id, name, enabled, receivedPerSecond }) => (
            <Node key={id} href={hrefTo("sources", id)} name={name}>
              {enabled ? (
                <span class="tabular">{formatRate(receivedPerSecond)}</span>
              ) : (
                <Badge>{commonTexts.disabled}</Badge>
              )}
            </Node>
          ))}
        </Nodes>
        <Edges edges={edges[0]} height={height} />
        <Nodes title={commonTexts.transformations}>
          {transformations.map(({ id, transformation, rate }) =>
            id === PASS_THROUGH ? (
              <li key={id} class="node pass-through">
                <span class="quiet">{overviewTexts.noTransformation}</span>
                <span class="state tabular">{formatRate(rate)}</span>
              </li>
            ) : (
              <Node key={id} href={hrefTo("transformations", id)} name={transformation?.name ?? id}>
                {transformation?.suspended ? (
                  <Badge tone="bad">{commonTexts.suspended}</Badge>
                ) : (
                  <span>
                    {transformation?.language === "javascript"
                      ? commonTexts.javaScript
                      : commonTexts.python}
                  </span>
                )}
                <span class="tabular">{formatRate(rate)}</span>
              </Node>
            ),
          )}
        </Nodes>
        <Edges edges={edges[1]} height={height} />
        <Nodes
          title={commonTexts.destinations}
          screen="destinations"
          hidden={totals.destinations - destinations.length}
        >
          {destinations.map(({ id, name, state, rejecting, rates, lagEvents, lagSeconds }) => (
            <Node key={id} href={hrefTo("destinations", id)} name={name}>
              <DestinationStateBadge state={state} isRejecting={rejecting} />
              <span class="tabular cut">
                {rates.failed > 0 && (
                  <>
                    <span class="bad">{overviewTexts.failedRate(rates.failed)}</span>,{" "}
                  </>
                )}
                {overviewTexts.deliveredRate(rates.delivered)}
                {lagEvents > 0 && `, ${overviewTexts.pendingFor(lagEvents, lagSeconds)}`}
              </span>
            </Node>
          ))}
        </Nodes>
      </div>
    </>
  );
}

function Nodes(props: {
  title: string;
  children: ComponentChildren;
  /** Name of the screen that lists all items of the column's kind. */
  screen?: string;
  /** Number of items of the column's kind that the graph leaves out. */
  hidden?: number;
}) {
  const { title, children, screen = "", hidden = 0 } = props;
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <ul>{children}</ul>
      {hidden > 0 && <a href={hrefTo(screen)}>{overviewTexts.moreNodes(hidden)}</a>}
    </section>
  );
}

function Node(props: { href: string; name: string; children: ComponentChildren }) {
  const { href, name, children } = props;
  return (
    <li>
      <a class="node" href={href}>
        <Name cut>{name}</Name>
        <span class="state">{children}</span>
      </a>
    </li>
  );
}

function Edges({ edges, height }: { edges: readonly FlowEdge[]; height: number }) {
  return (
    <svg
      class="edges"
      width={GAP_WIDTH}
      height={height}
      viewBox={`0 0 ${GAP_WIDTH} ${height}`}
      aria-hidden="true"
    >
      {edges.map((edge) => {
        const [y1, y2] = [rowCentre(edge.from), rowCentre(edge.to)];
        const bend = GAP_WIDTH / 2;
        const path = `M0 ${y1}C${bend} ${y1} ${bend} ${y2} ${GAP_WIDTH} ${y2}`;
        return (
          <g key={`${edge.from} ${edge.to}`}>
            <path d={path} class={classOf(edge)} {...strokeOf(edge)} />
            <path d={path} class="pointed" />
            <text {...labelPosition(edge)} class={edge.failed > 0 ? "failed" : undefined}>
              {edge.failed > 0 ? overviewTexts.failedRate(edge.failed) : formatRate(edge.rate)}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

const rowCentre = (row: number) => row * ROW_HEIGHT + NODE_HEIGHT / 2;

/**
 * Returns the position of an edge's label, in pixels, just above the line. The label of a sloping
 * line is right of the middle, because lines cross near the middle.
 */
function labelPosition({ from, to }: FlowEdge) {
  const x = 0.68;
  const rise = 3 * x ** 2 - 2 * x ** 3;
  const y = rowCentre(from) + (rowCentre(to) - rowCentre(from)) * rise;
  return { x: GAP_WIDTH * (from === to ? 0.5 : 0.6), y: y - 5 };
}

function classOf({ isOff, isDown, rate: perSecond }: FlowEdge): string {
  if (isOff) return "off";
  if (isDown) return "down";
  return perSecond > 0 ? "busy" : "";
}

/**
 * Returns the width of an edge, in pixels. It grows by about one pixel when the rate grows tenfold,
 * up to a limit.
 */
function strokeOf({ rate: perSecond }: FlowEdge) {
  return { "stroke-width": 1.5 + Math.min(4, Math.log10(1 + perSecond)) };
}
