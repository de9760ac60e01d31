import { Component, type ComponentChildren, type FunctionComponent, h } from "preact";

/** A component that is drawn again only when a property is another one. */
export function memo<Props extends object>(
  draw: (props: Props) => ComponentChildren,
): FunctionComponent<Props> {
  class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      const before = this.props as Record<string, unknown>;
      return Object.entries(next).some(([name, value]) => before[name] !== value);
    }

    override render() {
      return draw(this.props as Props);
    }
  }
  return (props) => h(Memo as never, props);
}
