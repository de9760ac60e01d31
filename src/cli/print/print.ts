import { type CommandDef, defineCommand } from "citty";
import { dashboardText } from "./dashboard.ts";
import { printedBlocks } from "./printed-blocks.ts";

/**
 * Defines a command that prints the code blocks that the guide has for a topic. If a block is the
 * whole content of a file, the path of this file is printed before the block.
 */
const printBlocks = (topic: string, description: string) =>
  defineCommand({
    meta: { name: `print ${topic}`, description },
    async run() {
      const blocks = await printedBlocks(topic);
      const texts = blocks.map(({ file, text }) =>
        file === undefined ? text : `# ${file}\n${text}`,
      );
      process.stdout.write(texts.join("\n"));
      return blocks.length > 0 ? 0 : 1;
    },
  });

const grafana = defineCommand({
  meta: { name: "print grafana", description: "Print a dashboard for Grafana, as JSON" },
  run() {
    process.stdout.write(dashboardText());
  },
});

export const print = defineCommand({
  meta: { name: "print", description: "Print files that other programs need" },
  subCommands: {
    grafana,
    alerts: printBlocks("alerts", "Print alert rules for Prometheus"),
    systemd: printBlocks("systemd", "Print unit files of systemd"),
    kubernetes: printBlocks("kubernetes", "Print the manifest for Kubernetes"),
    nginx: printBlocks("nginx", "Print a configuration of nginx before the data plane"),
    haproxy: printBlocks("haproxy", "Print a configuration of HAProxy before the data plane"),
  },
}) as CommandDef;
