import { environmentName, flagName } from "../../../src/settings/reader.ts";
import { configSchema } from "../../../src/settings/schema.ts";
import { table } from "./table.ts";

export function settingsPage(): string {
  const rows = Object.entries(configSchema.properties).map(([key, schema]) => {
    const fallback = Array.isArray(schema.default) ? "" : String(schema.default ?? "");
    return [
      `\`${key}\``,
      `\`${environmentName(key)}\`, \`--${flagName(key)}\``,
      fallback && `\`${fallback}\``,
      String(schema.description),
    ];
  });
  return `# Settings

Flags win over the environment, the environment over the file \`pixelmill.toml\` (or \`--config FILE\`). An unknown key or a
bad value stops the start. \`--request-ip=false\` turns off what is on; \`--sandbox-insecure\` alone means \`=true\`.

${table(["key", "environment, flag", "default", "meaning"], rows)}`;
}
